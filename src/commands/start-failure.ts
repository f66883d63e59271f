import { StartError } from '../errors.ts';
import { visible } from '../plain-text.ts';

/** Remedies if the server cannot listen, by the error code of `listen`. */
const listenRemedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; give another PORT, SANDBOX_PORT or METRICS_PORT.',
  EACCES: 'this user may not listen there; give a PORT of 1024 or above, or the right to bind lower ones.',
  EADDRNOTAVAIL: 'this machine does not have the address; give another HOST.',
  EAFNOSUPPORT: 'this machine does not know that kind of address; give another HOST.',
  ENOTFOUND: 'no machine has this name; give another HOST.',
  EAI_AGAIN: 'the name could not be looked up; give another HOST.',
};

/** The system calls that fail if the server cannot listen. In a worker, for which the primary listens, `bind` fails. */
const listenCalls: ReadonlySet<string> = new Set(['listen', 'bind', 'getaddrinfo']);

/** Describes why the start failed: one line if the reason is known, otherwise the stack. */
export function describeStartFailure(error: unknown): string {
  // The message may contain words of the command line, names of files and messages of libraries, and so control characters.
  if (error instanceof StartError) return error.message.split('\n').map(visible).join('\n');
  if (!(error instanceof Error)) return String(error);
  const isListening = 'syscall' in error && listenCalls.has(String(error.syscall));
  const remedy = isListening && 'code' in error ? listenRemedies[String(error.code)] : undefined;
  return remedy === undefined ? (error.stack ?? error.message) : `${error.message}: ${remedy}`;
}
