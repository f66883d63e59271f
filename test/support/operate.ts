import type { PaymentOutcome, PaymentRecord } from '../../src/payments/payment-record.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { openStore } from '../../src/payments/store/open-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { lease, pending, retentionMs, start } from '../payments/store/store-conformance.ts';
import { type RunOptions, runCommand } from './run-command.ts';

/** Runs `bankql payments` with the store at this address. */
export const operate = (
  args: readonly string[],
  { url, ...options }: RunOptions & { readonly url: string },
) =>
  runCommand(['payments', ...args], { ...options, environment: { STATE_URL: url, ...options.environment } });

/** Works in a store between two commands, like the serving bankql. A SQLite store is made if it is missing. */
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

/** The options that name an operator and a reason. */
export const ada = ['--by', 'Ada', '--reason', 'incident 4711'] as const;

export const hour = 60 * 60 * 1000;
/** The time at which the commands on a store of `openOperated` run. */
export const now = start + 26 * hour;

/** A store in memory, and commands that use it as the store of STATE_URL. */
export function openOperated() {
  let time = now;
  const store = createMemoryStore({ retentionMs, now: () => time });
  const operated = {
    store,
    /** How many times a command opened the store to write. */
    writes: 0,
    /** Makes a payment that began this long ago, and ended a moment later. */
    async pay(ago: number, change: Partial<PaymentRecord>, outcome?: PaymentOutcome): Promise<void> {
      time = now - ago;
      const { id, trackId } = pending(change);
      await store.begin(pending(change), lease);
      time += 240;
      if (outcome !== undefined) await store.end({ id, trackId, outcome });
      time = now;
    },
    run: (args: readonly string[], answer?: string) =>
      operate(args, {
        url: 'sqlite:state.db',
        async openStore(_url, { readOnly }) {
          if (readOnly !== true) operated.writes++;
          return { ...store, close: async () => {} };
        },
        answer,
        now,
      }),
  };
  return operated;
}
