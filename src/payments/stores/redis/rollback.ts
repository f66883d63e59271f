import { ErrorReply } from '@redis/client';
import type { PaymentRecord } from '../../store.ts';
import { runScript } from './script.ts';
import { scripts } from './scripts.ts';
import type { RedisServer } from './server.ts';

interface UncertainBegin {
  readonly record: PaymentRecord;
  readonly server: RedisServer;
  /** What `begin` would have answered. */
  readonly begun: Promise<PaymentRecord | null>;
}

/** Rolls back begun payments whose caller was told that nothing is stored, and therefore does not send them. */
export interface Rollback {
  /** Rolls this one back, once `begun` has settled. */
  add(begun: UncertainBegin): void;
  /** Retries failed rollbacks over a new connection. */
  retry(server: RedisServer): void;
}

/** The maximum number of pending rollbacks; further records stay as they are, and become UNKNOWN. */
const maxUncertain = 1_000;

export function createRollback(): Rollback {
  /** Those that may be stored. */
  const uncertain = new Set<PaymentRecord>();
  async function release(server: RedisServer, record: PaymentRecord): Promise<void> {
    await runScript(server, scripts.release, { id: record.id, now: 0, args: [record.trackId, '1'] });
    uncertain.delete(record);
  }

  async function rollBack({ server, record, begun }: UncertainBegin): Promise<void> {
    const stored = await begun.then(
      (existing) => existing === null,
      // A script that failed has stored nothing; after a lost connection it is not known.
      (error: unknown) => !(error instanceof ErrorReply),
    );
    if (!stored || uncertain.size >= maxUncertain) return;
    uncertain.add(record);
    await release(server, record);
  }

  return {
    add(begun) {
      // Where that fails, because the connection is lost, it is tried again over the next one.
      rollBack(begun).catch(() => {});
    },
    retry(server) {
      for (const record of uncertain) release(server, record).catch(() => {});
    },
  };
}
