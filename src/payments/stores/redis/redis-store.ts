import { z } from 'zod';
import { finishEvent, settleEvent } from '../../payment-history.ts';
import type { PaymentRecord, PaymentStore } from '../../store.ts';
import { createKnownMarks } from '../known-marks.ts';
import type { ServerStoreOptions } from '../server-store-options.ts';
import { createSlots } from '../slots.ts';
import { type RedisAddress, type SentinelAddress, shownAddress } from './address.ts';
import { createBegin } from './begin.ts';
import { openTimedRedis } from './command-timeouts.ts';
import { recordKey } from './keys.ts';
import { migrateCallers } from './migration.ts';
import { parseRecord, recordFields, timelessLine } from './record-fields.ts';
import { createRollback } from './rollback.ts';
import { runScript, type Script, type ScriptInput } from './script.ts';
import { scripts } from './scripts.ts';
import { type RedisReader, searchRecords } from './search.ts';
import type { RedisServer } from './server.ts';
import { acceptMissing } from './store-metadata.ts';

export interface RedisStoreOptions extends ServerStoreOptions {
  /** The server, or the Sentinels that name it, and a database of bankql's own. */
  readonly address: RedisAddress | SentinelAddress;
  /** How many replicas have to confirm each payment before it is sent. By default none. */
  readonly waitReplicas?: number;
}

/**
 * The maximum number of batches of all searches in progress: they share a connection with payments, which is limited to
 * a thousand commands. A search waits for its turn before each batch, so that a long one does not hold up a short one.
 */
const maxSearchBatches = 4;
const batchSize = 25;

const flag = z.literal([0, 1]).transform((n) => n === 1);

/**
 * A payment store in Redis, which the processes of several machines may share.
 *
 * What was stored survives the end of the server where that has an append-only file (`appendfsync always`), and a
 * failover only where the replica that takes over had it: see STATE_WAIT_REPLICAS in docs/payments.md.
 *
 * A `begin` that failed is rolled back as soon as Redis answers again. Where that fails too (this process died, or
 * Redis executes what an earlier connection sent after what a later one did), a PENDING record stays, which becomes
 * UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape:  a PaymentStore, once a server is reached and has passed checkServer. Times are the server's: `now` only tells
 *         how a process's clock differs from it. `search` is not atomic: each record is as it was when it was read.
 *         `loss` is what this process knows; the store itself refuses `begin` in all processes.
 * Errors: an Error that names the server and the remedy where it cannot be used; later StoreUnavailable.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<PaymentStore> {
  const { retentionMs, timeoutMs, allowVolatile = false, waitReplicas = 0 } = options;
  const { create = true, startTimeoutMs = 5_000, clock = 'server', onEvent = () => {} } = options;
  const rollback = createRollback();
  const marks = createKnownMarks(options.witness, onEvent);
  let secret = '';
  let loss: string | null = null;
  /** Why only this process refuses payments. */
  let unreadable: string | null = null;

  function setLoss(storeLoss: string | null): void {
    const reason = storeLoss ?? unreadable;
    const found = reason && `The payment store ${shownAddress(options.address)} refuses payments: ${reason}.`;
    if (found !== null && found !== loss) onEvent({ kind: 'loss', loss: found });
    if (found === null && loss !== null) onEvent({ kind: 'loss-accepted' });
    loss = found;
  }

  function onConnect(server: RedisServer): void {
    secret = server.meta.secret;
    unreadable = server.unreadable;
    setLoss(server.meta.loss);
    rollback.retry(server);
    // Only confirmed payments count: a failover may lose an unconfirmed one, which was not sent, without that being a
    // loss.
    if (loss === null)
      server
        .replicated()
        .then(() => marks.note(server.meta.held))
        .catch(() => {});
  }

  const { server, withTimeout, close } = await openTimedRedis({
    address: options.address,
    retentionMs,
    timeoutMs,
    startTimeoutMs,
    allowVolatile,
    waitReplicas,
    create,
    clock,
    marks,
    prepare: migrateCallers,
    onConnect,
  });

  const read = (response: unknown) => parseRecord(response, secret);

  const ask = async <T>(script: Script, input: ScriptInput, parse: (answer: unknown) => T): Promise<T> =>
    withTimeout(runScript(server(), script, input).then(parse));

  const find = (id: string, now: number) => ask(scripts.find, { id, now, args: [] }, read);

  function readRecords(ids: readonly string[]): Promise<(PaymentRecord | null)[]> {
    const { connection } = server();
    const replies = ids.map((id) => connection.send(['HGETALL', recordKey(id)]).then(read));
    return withTimeout(Promise.all(replies));
  }

  const searches = createSlots(maxSearchBatches);
  const readerAt = (now: number): RedisReader => ({
    run: (script, args, parse) => searches.run(() => ask(script, { now, args }, parse)),
    find: (id) => find(id, now),
    async records(ids) {
      const records: PaymentRecord[] = [];
      for (let n = 0; n < ids.length; n += batchSize) {
        const batch = await searches.run(() => readRecords(ids.slice(n, n + batchSize)));
        records.push(...batch.filter((record) => record !== null));
      }
      return records;
    },
  });

  /** Changes a record; once it is on the primary, it need not be confirmed by the replicas. */
  async function change(script: Script, input: ScriptInput): Promise<boolean> {
    const asked = server();
    const changed = runScript(asked, script, input).then(async (answer) => {
      // If a failover loses it, the record stays PENDING or UNKNOWN, which is never sent again.
      await asked.replicated().catch(() => {});
      return flag.parse(answer);
    });
    return withTimeout(changed);
  }

  const begin = createBegin({
    server,
    withTimeout,
    read,
    marks,
    onEvent,
    setLoss,
    ownLoss: () => unreadable,
    takeBack: rollback,
  });

  const store: PaymentStore = {
    get secret() {
      return secret;
    },
    get loss() {
      return loss;
    },
    async acceptLoss(acceptedBy, now) {
      await withTimeout(acceptMissing(server(), acceptedBy, now).then(marks.reset));
      unreadable = null;
      setLoss(null);
    },
    async status(now) {
      const [records, pending, unknown, found] = await ask(
        scripts.status,
        { now, args: [] },
        statusReply.parse,
      );
      // The mark has been rewritten, for example by the operator's process: reconnecting checks whether the store fits
      // it.
      if (unreadable !== null && marks.read().unreadable === null)
        server().connection.drop('its mark can be read again');
      setLoss(found);
      const [newest] = await store.search({ newestFirst: true, limit: 1 }, now);
      return { records, pending, unknown, newestAt: newest?.createdAt ?? null };
    },
    begin,
    finish(id, trackId, outcome, now) {
      const { state, ...fields } = outcome;
      const event = timelessLine(finishEvent(outcome, now));
      return change(scripts.finish, { id, now, args: [trackId, state, event, ...recordFields(fields)] });
    },
    release(id, trackId, { afterLease = false } = {}) {
      marks.forget(id);
      return ask(scripts.release, { id, now: 0, args: [trackId, afterLease ? '1' : '0'] }, flag.parse);
    },
    find,
    search: (query, now) => searchRecords(readerAt(now), query),
    settle(id, state, settledBy, now) {
      const event = timelessLine(settleEvent(state, settledBy, now));
      return change(scripts.settle, { id, now, args: [state, settledBy, event] });
    },
    close: () => close().then(marks.close),
  };
  return store;
}

const statusReply = z.tuple([z.number(), z.number(), z.number(), z.string().nullable()]);
