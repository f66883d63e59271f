import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { initStore } from '../../src/payments/store/open-store.ts';
import { compileCache } from './compile-cache.ts';
import { limitsVariable, withLimits } from './limits.ts';

/**
 * bankql as the tests have bundled it. Where nothing is bundled, or a test takes the variable away, it is bankql as `npm start`
 * runs it, unless the test gives it limits.
 */
export function entry(hasLimits = false): string {
  const { BANKQL_BUNDLE: bundle } = process.env;
  if (bundle !== undefined) return join(bundle, 'main.js');
  return join(import.meta.dirname, hasLimits ? 'main.ts' : '../../bin/bankql.js');
}

/** How long a bundled process waits for its payment store, in milliseconds: a minute, unless a test sets this variable. */
export const storeTimeoutVariable = 'TEST_STORE_TIMEOUT_MS';

/** bankql (or the sandbox bank alone) as a process of its own. */
export interface BankqlProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Where it serves, read from what it printed. */
  readonly url: string;
  readonly output: () => string;
  /** Sends the signal and waits for the end; the exit code, or the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | string | null>;
}

/** What a bundled process gets: a machine that is busy with tests makes banks late, and deadlines are the subject of tests of their own. */
export const patience = {
  BANK_TIMEOUT_MS: '60000',
  BANK_TRANSFER_TIMEOUT_MS: '60000',
  ...withLimits({ operationMs: 120_000 }),
};

/** Starts it, and waits for nothing. */
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

/** The stores that were made. */
const made = new Set<string>();

/** Starts it and waits until it has printed where it serves. Errors: what it printed, where it ended instead. */
export async function startProcess(
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<BankqlProcess> {
  const { STATE_URL: store } = environment;
  // As an operator makes it, once. What is wrong with the address shows at the start.
  if (store !== undefined && !made.has(store)) await initStore(store).catch(() => {});
  if (store !== undefined) made.add(store);
  const { child, ended, output } = launch(environment, args);
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /at (http:\/\/[^\s/,;]+)/.exec(output())?.[1];
      if (found === undefined || !/(curl|ready for traffic).*\n/.test(output())) return;
      // To look through all of a long log at each line would hold up whoever writes it.
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

/** Runs it to its end, which is expected to come by itself. */
export async function runProcess(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
) {
  const { ended, output } = launch(environment, args);
  const code = await ended;
  return { code, output: output() };
}

/** Asks a process of bankql over HTTP. */
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
