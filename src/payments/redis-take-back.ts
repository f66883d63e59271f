import { ErrorReply } from '@redis/client';
import type { RedisServer } from './redis-connection.ts';
import { runScript } from './redis-script.ts';
import { scripts } from './redis-scripts.ts';
import type { PaymentRecord } from './store.ts';

interface Begun {
  readonly record: PaymentRecord;
  readonly server: RedisServer;
  /** What `begin` would have answered. */
  readonly begun: Promise<PaymentRecord | null>;
}

/** Takes back begun payments whose caller was told that nothing is stored, and who sends nothing. */
export interface TakeBack {
  /** Takes this one back, once it is known how `begun` ended. */
  add(begun: Begun): void;
  /** Tries once more what failed so far, over a new connection. */
  retry(server: RedisServer): void;
}

/** More of them stay as they are, and become UNKNOWN. */
const maxDoubtful = 1_000;

export function createTakeBack(): TakeBack {
  /** Those that may be stored. */
  const doubtful = new Set<PaymentRecord>();
  async function reopen(server: RedisServer, record: PaymentRecord): Promise<void> {
    await runScript(server, scripts.reopen, { id: record.id, now: 0, args: [record.trackId] });
    doubtful.delete(record);
  }

  async function take({ server, record, begun }: Begun): Promise<void> {
    const stored = await begun.then(
      (existing) => existing === null,
      // A script that failed has stored nothing; a connection that was lost, nobody knows.
      (error: unknown) => !(error instanceof ErrorReply),
    );
    if (!stored || doubtful.size >= maxDoubtful) return;
    doubtful.add(record);
    await reopen(server, record);
  }

  return {
    add(begun) {
      // Where that fails, because the connection is lost, it is tried again over the next one.
      take(begun).catch(() => {});
    },
    retry(server) {
      for (const record of doubtful) reopen(server, record).catch(() => {});
    },
  };
}
