import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RedisAddress } from './redis-address.ts';
import { openCalls } from './redis-calls.ts';
import type { RedisServer } from './redis-connection.ts';
import { parseRecord, recordFields } from './redis-record.ts';
import { recordKey, runScript, type Script, type ScriptInput, scripts } from './redis-scripts.ts';
import { beginEvent, finishEvent, settleEvent } from './payment-history.ts';
import { applyQuery, statusOf } from './payment-query.ts';
import { historyLine } from './stored-record.ts';
import { createTakeBack } from './redis-take-back.ts';
import type { PaymentRecord, PaymentState, PaymentStore } from './store.ts';

export interface RedisStoreOptions {
  /** The server, and a database of bankql's own. */
  readonly address: RedisAddress;
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** How long a call may take. */
  readonly timeoutMs: number;
  /** Whether a server is accepted that may forget payments (see checkServer). By default it is not. */
  readonly allowVolatile?: boolean;
  /** How many replicas have to confirm each payment before it is sent. By default none. */
  readonly waitReplicas?: number;
  /** Whether the store is made where there is none; by default it is. */
  readonly create?: boolean;
  /** How long the start may try to reach a server; by default five seconds. */
  readonly startTimeoutMs?: number;
}

/** How many records a list reads at once. */
const page = 200;

const flag = z.literal([0, 1]).transform((n) => n === 1);

/**
 * A payment store in Redis, which the processes of several machines may share.
 *
 * What was stored survives the end of the server where that has an append-only file (`appendfsync always`), and a
 * failover only where the replica that takes over had it: see STATE_WAIT_REPLICAS in docs/payments.md.
 *
 * A `begin` that failed is taken back as soon as Redis answers again. Where that fails too (this process died, or
 * Redis executes what an earlier connection sent after what a later one did), a PENDING record stays, which
 * becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape:  a PaymentStore, once a server is reached and has passed checkServer. `list` is not one step: each of its
 *         records is as it was when it was read.
 * Errors: an Error that names the server and the remedy where it cannot be used; later StoreUnavailable.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<PaymentStore> {
  const { address, retentionMs, timeoutMs, allowVolatile = false, waitReplicas = 0 } = options;
  const { create = true, startTimeoutMs = 5_000 } = options;
  const takeBack = createTakeBack();
  const { server, inTime, close } = await openCalls({
    address,
    retentionMs,
    timeoutMs,
    startTimeoutMs,
    allowVolatile,
    waitReplicas,
    create,
    onConnect: takeBack.retry,
  });

  const ask = async <T>(script: Script, input: ScriptInput, read: (answer: unknown) => T): Promise<T> =>
    inTime(runScript(server(), script, input).then(read));

  /** A change of a record that is right on the primary, whatever the replicas have of it. */
  async function change(script: Script, input: ScriptInput): Promise<boolean> {
    const asked = server();
    const changed = runScript(asked, script, input).then(async (answer) => {
      // A failover that loses it leaves PENDING or UNKNOWN behind: never sent again.
      await asked.replicated().catch(() => {});
      return flag.parse(answer);
    });
    return inTime(changed);
  }

  async function storeRecord(asked: RedisServer, record: PaymentRecord, now: number) {
    const args = [String(record.leaseUntil), historyLine(beginEvent(record)), ...recordFields(record)];
    const existing = parseRecord(await runScript(asked, scripts.begin, { id: record.id, now, args }));
    if (existing === null) await asked.replicated();
    return existing;
  }

  async function listState(state: PaymentState, now: number): Promise<PaymentRecord[]> {
    const ids = await ask(scripts.list, { now, args: [state] }, z.array(z.string()).parse);
    const records: PaymentRecord[] = [];
    for (let n = 0; n < ids.length; n += page) {
      const { link } = server();
      const reads = ids
        .slice(n, n + page)
        .map((id) => link.send(['HGETALL', recordKey(id)]).then(parseRecord));
      records.push(...(await inTime(Promise.all(reads))).filter((record) => record !== null));
    }
    const outlivedBefore = state === 'DONE' || state === 'REJECTED' ? now - retentionMs : 0;
    return records.filter((record) => record.state === state && record.updatedAt >= outlivedBefore);
  }

  const store: PaymentStore = {
    // Until the store has one of its own.
    secret: createHash('sha256').update(address.host).digest('hex'),
    loss: null,
    async acceptLoss() {},
    status: async (now) => statusOf(await store.search({}, now)),
    async begin(record, now) {
      const asked = server();
      const begun = storeRecord(asked, record, now);
      try {
        return await inTime(begun);
      } catch (error) {
        takeBack.add({ record, server: asked, begun });
        throw error;
      }
    },
    finish(id, trackId, outcome, now) {
      const { state, ...fields } = outcome;
      const event = historyLine(finishEvent(outcome, now));
      return change(scripts.finish, { id, now, args: [trackId, state, event, ...recordFields(fields)] });
    },
    reopen: (id, trackId) => ask(scripts.reopen, { id, now: 0, args: [trackId] }, flag.parse),
    find: (id, now) => ask(scripts.find, { id, now, args: [] }, parseRecord),
    async search(query, now) {
      const states = query.states ?? (['PENDING', 'UNKNOWN', 'DONE', 'REJECTED'] as const);
      const records: PaymentRecord[] = [];
      for (const state of states) records.push(...(await listState(state, now)));
      return applyQuery(records, query);
    },
    settle(id, state, settledBy, now) {
      const event = historyLine(settleEvent(state, settledBy, now));
      return change(scripts.settle, { id, now, args: [state, settledBy, event] });
    },
    close,
  };
  return store;
}
