import { openStore } from '../../src/payments/store/open-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { retentionMs } from '../payments/store/store-conformance.ts';
import { type RunOptions, runCommand } from './run-command.ts';

/** Runs `bankql payments` with the store at this address. */
export const operate = (
  args: readonly string[],
  { url, ...options }: RunOptions & { readonly url: string },
) =>
  runCommand(['payments', ...args], { ...options, environment: { STATE_URL: url, ...options.environment } });

/** Does work in a store between two commands, as the bankql that serves would. A SQLite store is made if it is missing. */
export async function inStore<T>(
  url: string,
  work: (store: PaymentStore) => Promise<T>,
  keptMs = retentionMs,
): Promise<T> {
  const store = await openStore(url, { retentionMs: keptMs, create: true, timeoutMs: 60_000 });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** An operator who decides, and why. */
export const ada = ['--by', 'Ada', '--reason', 'incident 4711'] as const;
