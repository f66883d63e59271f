import cluster from 'node:cluster';
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { tellPrimary } from './app/workers/messages.ts';
import { type CliContext, type Service, UsageError } from './commands/command.ts';
import { readCommandLine, takeEnvFiles } from './commands/command-line.ts';
import { errorOfRejection, failCurrentRequest, formatFatalError } from './commands/process-end.ts';
import { describeStartFailure } from './commands/start-failure.ts';

/**
 * The entry of the process: runs one of the commands of commands.ts. Only this file uses the globals of the process; it passes
 * the needed parts to the command.
 */

const terminal = {
  replica: `${hostname()}:${process.pid}`,
  write: (text: string) => void process.stdout.write(text),
  isTerminal: process.stdout.isTTY,
  writeError: (text: string) => void process.stderr.write(text),
  onExit: (run: () => void) => void process.prependListener('exit', run),
  ask: process.stdin.isTTY && process.stdout.isTTY ? askAtTerminal : null,
};

async function askAtTerminal(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // If the input ends, the answer is empty.
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}

// V8 allocates objects directly in the old generation if earlier objects from the same place in the code lived long. Under load
// it does so with the objects of requests. Dead old objects then keep young ones alive, and each collection copies nearly all of
// them: this costs a third of the processor time of a small query.
setFlagsFromString('--no-allocation-site-pretenuring');
// By default, V8 lets the old generation grow to four times its live objects. With a factor of two, the process uses a
// quarter less memory under load. The price is more collections: up to 4 % of the processor time if answers are long.
setFlagsFromString('--heap-growing-percent=100');

// `--` ends Node's own options. A worker's --env-file is thus read by bankql, which reports an unreadable file.
if (cluster.isPrimary) cluster.setupPrimary({ execArgv: [...process.execArgv, '--'] });

/** The exit code if the command fails. */
let failureCode = 1;

function crash(error: unknown): void {
  terminal.writeError(`${formatFatalError(error)}\n`);
  process.exit(failureCode);
}

process.on('uncaughtException', crash);
// An unhandled rejection fails only the request to which it belongs.
process.on('unhandledRejection', (reason) => {
  const error = errorOfRejection(reason);
  if (!failCurrentRequest(error)) crash(error);
});

// This signal is ignored, because Node's default is to open its inspector.
process.on('SIGUSR1', () => {});

// A reader that closes the pipe (`| head`) is not an error: further output is dropped, and the work continues.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/**
 * Runs the service until a signal ends it, or it ends by itself. SIGHUP and SIGUSR2 never end it, not even during its
 * start.
 */
async function serve(start: () => Promise<Service | number>): Promise<void> {
  let service: Service | null = null;
  const onSignals = cluster.isWorker ? ignoreSignals : handleSignals;
  onSignals(() => service);
  const started = await start();
  if (typeof started === 'number') return process.exit(started);
  service = started;
  if (service.ended === undefined) return;
  await service.ended;
  process.exit(0);
}

/**
 * A worker ignores signals, because a terminal and many supervisors send them to all processes of a group. The primary tells its
 * workers what to do.
 */
function ignoreSignals(): void {
  for (const signal of ['SIGHUP', 'SIGUSR2', 'SIGTERM', 'SIGINT']) process.on(signal, () => {});
}

/** Called before the start is announced, because a reader of the announcement may send a signal at once. */
function handleSignals(running: () => Service | null): void {
  process.on('SIGHUP', () => void running()?.reload());
  process.on('SIGUSR2', () => void running()?.replaceWorkers?.());
  let stopping = false;
  const endBy = (code: number) => () => {
    const service = running();
    // The service has not started, so no request is in progress.
    if (service === null) process.exit(code);
    // A second signal means that the operator does not want to wait.
    if (stopping) process.exit(1);
    stopping = true;
    void service.stop().then((exitCode) => process.exit(exitCode));
  };
  const end = endBy(143);
  process.on('SIGTERM', end);
  process.on('SIGINT', endBy(130));
  // npm runs this process in a shell. A signal to the whole process group also ends that shell, whose end is then not a second
  // request to stop.
  if (process.env.npm_lifecycle_event !== undefined) onceShellEnds(() => stopping || end());
}

/**
 * npm runs a script in a shell, and passes signals only to that shell, which ends without passing them on. Without this function,
 * the process would stay and hold the port for ever.
 */
function onceShellEnds(end: () => void): void {
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    end();
  }, 250);
  timer.unref();
}

/** Runs the command that the command line names. Errors: StartError. */
async function run(): Promise<void> {
  const { envFiles, words } = takeEnvFiles(process.argv.slice(2));
  // Files of Node's own --env-file are read again, because Node silently leaves out lines that it cannot read.
  const ofNode = takeEnvFiles(process.execArgv).envFiles;
  const invocation = readCommandLine(words);
  if (typeof invocation === 'string') return terminal.write(invocation);
  failureCode = invocation.failureCode ?? failureCode;
  const { resolveEnvironment } = await import('./config/environment.ts');
  const resolved = resolveEnvironment(process.env, [...ofNode, ...envFiles]);
  // OpenTelemetry reads its own variables from the process.
  for (const [name, value] of Object.entries(resolved.environment))
    if (name.startsWith('OTEL_')) process.env[name] = value;
  const context: CliContext = { ...terminal, ...resolved };
  if (invocation.isService !== true) process.exitCode = Number(await invocation.run(context));
  else await serve(() => invocation.run(context));
}

try {
  await run();
} catch (error) {
  const words = describeStartFailure(error);
  if (cluster.isWorker) await tellPrimary({ bankql: 'cannot start', reason: words });
  else terminal.writeError(`${words}\n`);
  process.exit(error instanceof UsageError ? 2 : failureCode);
}
