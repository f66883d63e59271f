import type { PaymentRecord } from '../../store.ts';
import { statements } from './statements.ts';
import type { TimedPool } from './timed-pool.ts';

/** What is known of an attempt to begin a payment. */
export interface BeginAttempt {
  readonly record: PaymentRecord;
  /** Whether it may be stored although it failed: its connection was lost, or no standby confirmed it. */
  uncertain: boolean;
}

interface GivenUp {
  readonly attempt: BeginAttempt;
  /** What `begin` would have answered. */
  readonly begun: Promise<PaymentRecord | null>;
}

/** Takes back begun payments whose caller was told that nothing is stored, and who sends nothing. */
export interface Rollback {
  /** Takes this one back, once it is known how it ended. */
  add(givenUp: GivenUp): void;
  /** Tries once more what failed so far. */
  retry(): void;
}

/** More of them stay as they are, and become UNKNOWN. */
const maxUncertain = 1_000;

export function createRollback(pool: () => TimedPool): Rollback {
  /** Those that may be stored. */
  const uncertain = new Set<PaymentRecord>();

  async function release(record: PaymentRecord): Promise<void> {
    const { id, trackId } = record;
    await pool().run((connection) => connection.query(statements.release([id, trackId, true])));
    uncertain.delete(record);
  }

  async function rollBack({ attempt, begun }: GivenUp): Promise<void> {
    const stored = await begun.then(
      (existing) => existing === null,
      () => attempt.uncertain,
    );
    if (!stored || uncertain.size >= maxUncertain) return;
    uncertain.add(attempt.record);
    await release(attempt.record);
  }

  return {
    add(givenUp) {
      // Where that fails, because the server is away, it is tried again over the next connection.
      rollBack(givenUp).catch(() => {});
    },
    retry() {
      for (const record of uncertain) release(record).catch(() => {});
    },
  };
}
