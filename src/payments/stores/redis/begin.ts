import { z } from 'zod';
import { beginEvent } from '../../payment-history.ts';
import type { PaymentRecord, PaymentStore } from '../../store.ts';
import type { KnownMarks } from '../known-marks.ts';
import type { OnStoreEvent } from '../store-event.ts';
import type { TimedRedis } from './command-timeouts.ts';
import { recordFields, timelessLine } from './record-fields.ts';
import type { Rollback } from './rollback.ts';
import { runScript } from './script.ts';
import { scripts } from './scripts.ts';
import type { RedisServer } from './server.ts';

export interface BeginOptions extends Pick<TimedRedis, 'server' | 'withTimeout'> {
  readonly read: (response: unknown) => PaymentRecord | null;
  readonly marks: KnownMarks;
  readonly takeBack: Rollback;
  readonly onEvent: OnStoreEvent;
  /** Called with the loss that the store reports. */
  readonly setLoss: (loss: string | null) => void;
  /** Why this process refuses payments although the store accepts them; null if it does not. */
  readonly ownLoss: () => string | null;
}

/** How many payments were ever begun, when the newest was, and this one; index entries that were removed, were due, and are there. */
const counts = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number(), z.number()]);

const minute = 60_000;

/** PaymentStore.begin: a stored record is either confirmed by the replicas or rolled back. */
export function createBegin(options: BeginOptions): PaymentStore['begin'] {
  const { server, withTimeout, read, marks, takeBack: rollback, onEvent, setLoss, ownLoss } = options;
  let purgeNotedAt = Number.NEGATIVE_INFINITY;

  function notePurge(deleted: number, expired: number, records: number): void {
    // A large purge is spread over many payments: one line a minute is enough.
    if (expired <= records / 10 || performance.now() < purgeNotedAt + minute) return;
    purgeNotedAt = performance.now();
    onEvent({ kind: 'purge', deleted, expired, records });
  }

  async function storeRecord(asked: RedisServer, record: PaymentRecord, now: number) {
    const { caller, createdAt, updatedAt, leaseUntil, ...fields } = record;
    const args = [caller, createdAt, updatedAt, leaseUntil].map(String);
    args.push(timelessLine(beginEvent(record)), ...recordFields(fields));
    const response = await runScript(asked, scripts.begin, { id: record.id, now, args }).catch(
      (error: Error) => {
        if (error.message.startsWith('LOSS ')) setLoss(error.message.slice('LOSS '.length));
        throw error;
      },
    );
    setLoss(null);
    const { data } = counts.safeParse(response);
    if (data === undefined) return read(response);
    const [began, newestAt, beganAt, deleted, expired, records] = data;
    notePurge(deleted, expired, records);
    await asked.replicated();
    // Only now: a payment that no replica confirmed is not sent, and a failover may lose it.
    const { id, trackId } = record;
    marks.note({ storeId: asked.name, began, newestAt }, { id, trackId, createdAt: beganAt });
    return null;
  }

  return async (record, now) => {
    const asked = server();
    const refused = ownLoss();
    if (refused !== null) return withTimeout(Promise.reject(new Error(refused)));
    const begun = storeRecord(asked, record, now);
    try {
      return await withTimeout(begun);
    } catch (error) {
      begun.then(() => marks.forget(record.id)).catch(() => {});
      rollback.add({ record, server: asked, begun });
      throw error;
    }
  };
}
