import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { failCurrentRequest, formatFatalError, rejectionOf } from './commands/fatal-error.ts';
import type { Service } from './commands/service.ts';
import { StartError } from './config/start-error.ts';

/**
 * The process: `bankql` serves; `bankql sandbox`, `doctor`, `payments` and `persist` do what their names say. It is
 * the one file that knows the process; each command gets what it needs of it, and loads what it needs itself.
 */
const [, , command = 'serve', ...args] = process.argv;

const terminal = {
  environment: process.env,
  args,
  replica: `${hostname()}:${process.pid}`,
  write: (text: string) => void process.stdout.write(text),
  writeError: (text: string) => void process.stderr.write(text),
  ask: process.stdin.isTTY && process.stdout.isTTY ? askAtTerminal : null,
};

async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // The end of the input is no answer.
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}

// V8 moves what it finds to live long into the old generation from its birth on. Under load it takes a few requests for
// everything that a request makes; what is old and dead keeps alive what is young, and each collection then copies nearly
// all of it: a third of the processor's time for a small query.
setFlagsFromString('--no-allocation-site-pretenuring');
// Of itself V8 lets the old generation grow to four times what lives in it. With twice, memory under load is
// a quarter less; collecting the old generation more often costs up to 4 % of the processor's time where answers are long.
setFlagsFromString('--heap-growing-percent=100');

/** Two, for the doctor: one says that a bank does not conform. */
const exitCode = command === 'doctor' ? 2 : 1;

/** What is to be written before the process ends, however it ends. */
let flush = () => {};

function crash(error: unknown): void {
  flush();
  terminal.writeError(`${formatFatalError(error)}\n`);
  process.exit(exitCode);
}

process.on('uncaughtException', crash);
// A promise that nobody waits for fails the request that it belongs to, and no other.
process.on('unhandledRejection', (reason) => {
  const error = rejectionOf(reason);
  if (!failCurrentRequest(error)) crash(error);
});

// A reader that has seen enough (`| head`) is no error: what is left to say goes nowhere, and work that was begun ends.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Runs until a signal comes, and then ends what runs. SIGHUP ends nothing, not even a start that is under way. */
async function serveUntilSignal(start: () => Promise<Service>): Promise<void> {
  let reload = async () => {};
  process.on('SIGHUP', () => void reload());
  const service = await start();
  reload = service.reload;
  flush = service.flush;
  let stopping = false;
  const end = () => {
    // Whoever asks twice does not want to wait.
    if (stopping) {
      flush();
      process.exit(1);
    }
    stopping = true;
    void service.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

/** What stops the start, in one line where it is known. */
function explain(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return `${error.message}: another process listens there; give another PORT, SANDBOX_PORT or METRICS_PORT.`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

try {
  if (command === 'serve')
    await serveUntilSignal(async () => (await import('./commands/serve.ts')).serveBankql(terminal));
  else if (command === 'sandbox')
    await serveUntilSignal(async () => (await import('./commands/sandbox.ts')).serveSandbox(terminal));
  else if (command === 'doctor')
    process.exitCode = await (await import('./commands/doctor.ts')).checkBank(terminal);
  else if (command === 'payments')
    process.exitCode = await (await import('./commands/payments.ts')).managePayments(terminal);
  else if (command === 'persist')
    process.exitCode = await (await import('./commands/persist.ts')).makePersisted(terminal);
  else if (command === 'help' || command === '--help')
    (await import('./commands/help.ts')).showHelp(terminal);
  else
    throw new StartError(
      `bankql knows no command "${command}": sandbox, doctor, payments, persist, help, or none to serve.`,
    );
} catch (error) {
  terminal.writeError(`${explain(error)}\n`);
  process.exit(exitCode);
}
