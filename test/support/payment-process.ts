import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { compileCache } from './compile-cache.ts';

/** The points of a payment at which a process can kill itself, in order. */
export const killPoints = [
  'before PENDING is stored',
  'when PENDING is stored',
  'when the answer arrived',
  'when DONE is stored',
] as const;
export type KillPoint = (typeof killPoints)[number];

export interface ChildSettings {
  readonly bankUrl: string;
  readonly stateUrl: string;
  /** The point at which the process kills itself; by default none. */
  readonly killAt?: KillPoint;
  readonly leaseMs?: number;
}

export interface PaymentProcess extends AsyncDisposable {
  readonly url: string;
  /** Resolves when the process has ended, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
  kill(): Promise<void>;
}

/** Starts payment-child.ts as a separate process. */
export async function startPaymentProcess(settings: ChildSettings): Promise<PaymentProcess> {
  const { BANKQL_BUNDLE: bundle } = process.env;
  const program =
    bundle === undefined ? join(import.meta.dirname, 'payment-child.ts') : join(bundle, 'payment-child.js');
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    env: compileCache,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => {
    child.once('exit', (_code, signal) => resolve(signal));
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text: string) => resolve(text.trim()));
    void ended.then((signal) => reject(new Error(`payment-child.ts ended at its start: ${signal}`)));
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { url, ended, kill, [Symbol.asyncDispose]: kill };
}
