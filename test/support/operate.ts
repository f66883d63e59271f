import { managePayments } from '../../src/commands/payments.ts';
import type { PaymentStore } from '../../src/payments/store.ts';
import { openStore } from '../../src/payments/stores/open-store.ts';
import { retentionMs } from '../payments/stores/store-conformance.ts';
import { type RunOptions, runCommand } from './run-command.ts';

/** Runs `bankql payments`. */
export const operate = (
  args: readonly string[],
  { answer, ...given }: NonNullable<Parameters<typeof managePayments>[1]> & Pick<RunOptions, 'answer'>,
) => runCommand((context) => managePayments(context, given), args, { answer });

/** Does work in a SQLite store between two commands, as the bankql that serves would. */
export async function inSqliteStore<T>(
  path: string,
  work: (store: PaymentStore) => Promise<T>,
  keptMs = retentionMs,
): Promise<T> {
  const store = await openStore(`sqlite:${path}`, { create: true, retentionMs: keptMs, timeoutMs: 60_000 });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
