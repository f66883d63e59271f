import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { initStore } from '../../src/payments/store/open-store.ts';
import { compileCache } from './compile-cache.ts';
import { limitsVariable, withLimits } from './limits.ts';

/**
 * The program to start: the tests' bundle of bankql. Without a bundle, or if a test removes the variable, it is bankql as `npm
 * start` runs it, or test/support/main.ts if the test sets limits.
 */
export function entry(hasLimits = false): string {
  const { BANKQL_BUNDLE: bundle } = process.env;
  if (bundle !== undefined) return join(bundle, 'main.js');
  return join(import.meta.dirname, hasLimits ? 'main.ts' : '../../bin/bankql.js');
}

/**
 * The time for which a bundled process waits for its payment store, in milliseconds: a minute, unless a test sets this variable.
 */
export const storeTimeoutVariable = 'TEST_STORE_TIMEOUT_MS';

/** bankql (or the sandbox bank alone) as a separate process. */
export interface BankqlProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** The address of the server, read from the output. */
  readonly url: string;
  readonly output: () => string;
  /** Sends the signal and waits for the end. Returns the exit code, or the signal that ended the process. */
  stop(signal?: NodeJS.Signals): Promise<number | string | null>;
}

/**
 * The deadlines of a bundled process. They are long, because banks are late on a machine that runs tests. Deadlines have tests
 * of their own.
 */
export const patience = {
  BANK_TIMEOUT_MS: '60000',
  BANK_TRANSFER_TIMEOUT_MS: '60000',
  ...withLimits({ operationMs: 120_000 }),
};

/** Starts the process without waiting. */
export function launch(environment: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const child = spawn(process.execPath, [entry(limitsVariable in environment), ...args], {
    env: {
      ...compileCache,
      PORT: '0',
      SANDBOX_PORT: '0',
      ...(process.env.BANKQL_BUNDLE === undefined ? {} : patience),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (typeof code === 'number' ? code : signal));
  return { child, ended, output: () => output };
}

/** The addresses of the stores that have been created in this test file. */
const made = new Set<string>();

/**
 * Starts the process and waits until it has printed its address.
 * Errors: an Error with the output, if the process ended.
 */
export async function startProcess(
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<BankqlProcess> {
  const { STATE_URL: store } = environment;
  // Each store is created once, as an operator does. If its address is invalid, bankql reports that when it starts.
  if (store !== undefined && !made.has(store)) await initStore(store).catch(() => {});
  if (store !== undefined) made.add(store);
  const { child, ended, output } = launch(environment, args);
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /at (http:\/\/[^\s/,;]+)/.exec(output())?.[1];
      if (found === undefined || !/(curl|ready for traffic).*\n/.test(output())) return;
      // The rest of the log is not searched, because searching it at each line would delay the process that writes it.
      child.stdout?.off('data', look);
      resolve(found);
    };
    child.stdout?.on('data', look);
    void ended.then(() => reject(new Error(`it ended: ${output()}`)));
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  return { child, url, output, stop, [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')) };
}

/** Runs the process until it ends by itself. */
export async function runProcess(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  const { ended, output } = launch(environment, args);
  const code = await ended;
  return { code, output: output() };
}

/** Sends a request to a process of bankql over HTTP. */
export async function post(
  url: string,
  query: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<unknown> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
    ...(signal === undefined ? {} : { signal }),
  });
  return response.json();
}
