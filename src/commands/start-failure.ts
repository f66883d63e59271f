import { StartError } from '../config/start-error.ts';

/** What to do where the server cannot listen, by the code that `listen` fails with. */
const listenRemedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there; give another PORT, SANDBOX_PORT or METRICS_PORT.',
  EACCES: 'this user may not listen there; give a PORT of 1024 or above, or the right to bind lower ones.',
  EADDRNOTAVAIL: 'this machine does not have the address; give another HOST.',
  EAFNOSUPPORT: 'this machine does not know that kind of address; give another HOST.',
  ENOTFOUND: 'no machine has this name; give another HOST.',
  EAI_AGAIN: 'the name could not be looked up; give another HOST.',
};

/** What fails where the server cannot listen; `bind` where a worker asked the primary to do it. */
const listenCalls: ReadonlySet<string> = new Set(['listen', 'bind', 'getaddrinfo']);

/** What stopped the start: one line where it is known, else the stack. */
export function describeStartFailure(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const isListening = 'syscall' in error && listenCalls.has(String(error.syscall));
  const remedy = isListening && 'code' in error ? listenRemedies[String(error.code)] : undefined;
  return remedy === undefined ? (error.stack ?? error.message) : `${error.message}: ${remedy}`;
}
