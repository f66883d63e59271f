import { z } from 'zod';
import { beginEvent } from '../../payment-history.ts';
import type { PaymentRecord, PaymentStore } from '../../store.ts';
import type { KnownMarks } from '../known-marks.ts';
import type { PostgresConnection } from './connection.ts';
import { givenValues, parseRow, timelessLine } from './record-row.ts';
import type { BeginAttempt, Rollback } from './rollback.ts';
import { type ServerDemands, unconfirmed } from './server-check.ts';
import { statements } from './statements.ts';
import type { CallTime, TimedPool } from './timed-pool.ts';

export interface BeginOptions extends Pick<ServerDemands, 'allowVolatile' | 'waitReplicas'> {
  readonly pool: TimedPool;
  readonly retentionMs: number;
  readonly storeId: () => string;
  /** The caller's time where it counts, null where the server's does. */
  readonly timeOf: (now: number) => number | null;
  readonly find: (connection: PostgresConnection, id: string, now: number) => Promise<PaymentRecord | null>;
  readonly marks: KnownMarks;
  readonly takeBack: Rollback;
  /** Is told what the store says of a loss. */
  readonly setLoss: (loss: string | null) => void;
  /** Why this process begins no payment, although the store would; null where nothing keeps it from it. */
  readonly ownLoss: () => string | null;
}

const time = z.coerce.number();
const answerRow = z.object({
  loss: z.string().nullable(),
  begun_at: time.nullable(),
  id: z.string().nullable(),
  began: time.nullable(),
  newest_at: time.nullable(),
  synchronousCommit: z.string(),
  standbyNames: z.string(),
});

/** A record may be deleted between two statements, and another one begin with its id: so often it is looked at anew. */
const maxRounds = 5;

/**
 * PaymentStore.begin. What it stored is confirmed as it has to be, or is taken back. A connection that is lost under it leaves
 * open whether it is stored: the same beginning is then asked for over another connection, which finds what this attempt stored,
 * or stores it.
 */
export function createBegin(options: BeginOptions): PaymentStore['begin'] {
  const { pool, storeId, timeOf, find, marks, setLoss, ownLoss } = options;

  /** Whether it was stored: true, or the record with its id that is there, or false where that has to be looked for. */
  async function insert(
    connection: PostgresConnection,
    attempt: BeginAttempt,
    now: number,
    again: boolean,
  ): Promise<boolean | PaymentRecord> {
    const { record } = attempt;
    const times = [record.createdAt, record.updatedAt, record.leaseUntil].map((at) => at - now);
    const event = timelessLine(beginEvent(record));
    const store = storeId();
    const values = [timeOf(now), store, event, ...times, ...givenValues(record), options.retentionMs];
    const { rows, warning } = await connection.query(
      again ? statements.beginAgain(values) : statements.begin(values),
    );
    if (rows.length === 0) {
      pool.renew('it has lost its records');
      throw new Error('it has lost its records');
    }
    const answer = answerRow.parse(rows[0]);
    setLoss(answer.loss);
    if (answer.loss !== null) throw new Error(answer.loss);
    const { begun_at: createdAt, began } = answer;
    if (createdAt === null) return answer.id !== null && parseRow(rows[0]);
    if (began === null) throw new Error('its count is gone');
    assertConfirmed(answer, warning, attempt);
    const { id, trackId } = record;
    marks.note({ storeId: store, began, newestAt: answer.newest_at }, { id, trackId, createdAt });
    return true;
  }

  /** Errors: an Error where a failover may lose what was stored: then it must not be sent. */
  function assertConfirmed(
    settings: z.infer<typeof answerRow>,
    warning: string | null,
    attempt: BeginAttempt,
  ) {
    if (options.allowVolatile) return;
    const reason = unconfirmed(settings, options.waitReplicas);
    if (reason === null && warning === null) return;
    attempt.uncertain = true;
    if (reason !== null) pool.renew(reason);
    throw new Error(reason ?? `the server warned: ${warning}`);
  }

  async function store(attempt: BeginAttempt, now: number, time: CallTime): Promise<PaymentRecord | null> {
    const onLost = () => {
      attempt.uncertain = true;
    };
    const { id } = attempt.record;
    return pool.run(
      async (connection, again) => {
        for (let round = 1; round <= maxRounds; round++) {
          const inserted = await insert(connection, attempt, now, again);
          if (inserted === true) return null;
          if (inserted !== false) return inserted;
          const found = await find(connection, id, now);
          if (found !== null) return found;
          await connection.query(statements.forget([timeOf(now), options.retentionMs, id]));
        }
        throw new Error('its record changes all the time');
      },
      { onLost, time },
    );
  }

  return async (record, now) => {
    const refused = ownLoss();
    if (refused !== null) return pool.withTimeout(() => Promise.reject(new Error(refused)));
    pool.assertOpen();
    const attempt: BeginAttempt = { record, uncertain: false };
    let begun: Promise<PaymentRecord | null> = Promise.resolve(null);
    try {
      return await pool.withTimeout((time) => {
        begun = store(attempt, now, time);
        return begun;
      });
    } catch (error) {
      begun.then(() => marks.forget(record.id)).catch(() => {});
      options.takeBack.add({ attempt, begun });
      throw error;
    }
  };
}
