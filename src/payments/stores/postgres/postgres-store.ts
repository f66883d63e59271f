import { z } from 'zod';
import { finishEvent, settleEvent } from '../../payment-history.ts';
import type { PaymentQuery, PaymentRecord, PaymentStore } from '../../store.ts';
import { createKnownMarks } from '../known-marks.ts';
import type { ServerStoreOptions } from '../server-store-options.ts';
import { createSlots } from '../slots.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import { createBegin } from './begin.ts';
import type { PostgresConnection } from './connection.ts';
import { createPurge } from './purge.ts';
import { parseRow, timelessLine } from './record-row.ts';
import { createRollback } from './rollback.ts';
import { type Place, searchPage } from './search.ts';
import { type ConnectedStore, createSessionOpener } from './server-session.ts';
import { batch, statements } from './statements.ts';
import { acceptMissing } from './store-metadata.ts';
import { openTimedPool, type TimedPool } from './timed-pool.ts';

export interface PostgresStoreOptions extends ServerStoreOptions {
  /** The server, or the hosts of a cluster, and a database of bankql's own. */
  readonly address: PostgresAddress;
  /** How long a call may take; a search has more. */
  readonly timeoutMs: number;
  /** How many standbys have to confirm each payment before it is sent. By default as many as the server has set. */
  readonly waitReplicas?: number;
  /** How many connections there are at most; by default eight. */
  readonly poolSize?: number;
}

const defaultPoolSize = 8;
/** How many of the connections searches may have. */
const maxSearches = 3;
const pageSize = 500;
/** How long a page of a search may take, in milliseconds: nobody pays meanwhile. */
const pageLimitMs = 10_000;

const time = z.coerce.number();
const statusRow = z.object({
  records: time,
  pending: time,
  unknown: time,
  newestAt: time.nullable(),
  loss: z.string().nullable(),
});
const stale = z.object({ stale: z.boolean() });

/**
 * A payment store in PostgreSQL, which the processes of several machines may share. Each call is one statement, so that it
 * is atomic and leaves no transaction open.
 *
 * What was stored survives the end of the server (`fsync`, `synchronous_commit`), and a failover where the standby that takes
 * over had to confirm it: see docs/payments.md.
 *
 * A connection that dies under a call leaves open whether its statement was committed: that is looked up over another
 * connection. A `begin` of which it stays open fails, and is taken back as soon as the server answers again. Where that fails
 * too (this process died), a PENDING record stays, which becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape:  a PaymentStore, once a server is reached and has passed checkServer. Times are the server's: `now` only tells how a
 *         process' clock differs from it. `search` is not one step: each page of it is. `loss` is what this process knows; the
 *         store itself refuses `begin` in all processes.
 * Errors: an Error that names the server and the remedy where it cannot be used; later StoreUnavailable.
 */
export async function createPostgresStore(options: PostgresStoreOptions): Promise<PaymentStore> {
  const { address, retentionMs, timeoutMs, allowVolatile = false, waitReplicas = 0 } = options;
  const { create = true, startTimeoutMs = 5_000, clock = 'server', onEvent = () => {} } = options;
  const size = options.poolSize ?? defaultPoolSize;
  const marks = createKnownMarks(options.witness, onEvent);
  let pool: TimedPool | null = null;
  const opened = (): TimedPool => {
    if (pool === null) throw new Error('it is not connected yet');
    return pool;
  };
  const rollback = createRollback(opened);
  const onReady = () => {
    if (pool !== null) rollback.retry();
  };
  let storeId = '';
  let secret = '';
  let loss: string | null = null;
  /** A loss of this process alone. */
  let unreadable: string | null = null;

  function setLoss(storeLoss: string | null): void {
    const reason = storeLoss ?? unreadable;
    const found = reason && `The payment store ${shownAddress(address)} refuses payments: ${reason}.`;
    if (found !== null && found !== loss) onEvent({ kind: 'loss', loss: found });
    if (found === null && loss !== null) onEvent({ kind: 'loss-accepted' });
    loss = found;
  }

  function onConnect(connected: ConnectedStore): void {
    ({ storeId } = connected.meta.held);
    ({ secret } = connected.meta);
    ({ unreadable } = connected);
    setLoss(connected.meta.loss);
    // What no standby has confirmed yet, a failover may lose without a loss: then it was not sent.
    if (loss === null && waitReplicas === 0) marks.note(connected.meta.held);
  }

  const timeOf = (now: number) => (clock === 'server' ? null : now);
  const session = createSessionOpener({
    address,
    retentionMs,
    clock,
    marks,
    timeoutMs,
    allowVolatile,
    waitReplicas,
    create,
    onConnect,
  });

  // A connection alone does not keep the process alive.
  const alive = setInterval(() => {}, timeoutMs);
  try {
    pool = await openTimedPool(address, { size, timeoutMs, startTimeoutMs, open: session.open, onReady });
  } finally {
    clearInterval(alive);
  }
  const { call } = pool;
  const purge = createPurge({ pool, retentionMs, timeOf, onEvent });

  async function findWith(connection: PostgresConnection, id: string, now: number) {
    for (;;) {
      const { rows } = await connection.query(statements.find([timeOf(now), id, retentionMs]));
      const [row] = rows;
      if (row === undefined) return null;
      if (!stale.parse(row).stale) return parseRow(row);
    }
  }

  const find = (id: string, now: number) => call((connection) => findWith(connection, id, now));

  const begin = createBegin({
    pool,
    retentionMs,
    allowVolatile,
    waitReplicas,
    storeId: () => storeId,
    timeOf,
    find: findWith,
    marks,
    takeBack: rollback,
    setLoss,
    ownLoss: () => unreadable,
  });

  /** Searches wait for their turn before each page, so that payments have connections, and a long one does not hold up a short one. */
  const searches = createSlots(maxSearches);
  function readPage(query: PaymentQuery, now: number, after: Place | null, limit: number) {
    const statement = searchPage(query, { now: timeOf(now), retentionMs, after, size: limit });
    return searches.run(() =>
      call(
        async (connection) => {
          await limitStatements(connection, pageLimitMs);
          try {
            const { rows } = await connection.query(statement, pageLimitMs);
            return rows.map(parseRow);
          } finally {
            await limitStatements(connection, timeoutMs);
          }
        },
        { limitMs: pageLimitMs + timeoutMs },
      ),
    );
  }

  async function endLeases(now: number): Promise<void> {
    const end = () => call((connection) => connection.query(statements.endLeases([timeOf(now)])));
    while ((await end()).rows.length === batch);
  }

  const store: PaymentStore = {
    get secret() {
      return secret;
    },
    get loss() {
      return loss;
    },
    async acceptLoss(acceptedBy, now) {
      const accepted = await call((connection) =>
        acceptMissing(connection, { storeId, acceptedBy, now: timeOf(now) }),
      );
      await marks.reset(accepted);
      unreadable = null;
      setLoss(null);
    },
    async status(now) {
      const { rows } = await call((connection) =>
        connection.query(statements.status([timeOf(now), retentionMs])),
      );
      const { loss: found, ...counts } = statusRow.parse(rows[0]);
      // Somebody wrote the mark anew, the operator's process say: connecting again finds out whether the store fits it.
      if (unreadable !== null && marks.read().unreadable === null)
        opened().renew('its mark can be read again');
      setLoss(found);
      return counts;
    },
    async begin(record, now) {
      const found = await begin(record, now);
      purge(now);
      return found;
    },
    finish(id, trackId, outcome, now) {
      const { state, answer, code, status, message, bankText } = outcome;
      const event = timelessLine(finishEvent(outcome, now));
      const values = [timeOf(now), id, trackId, state, event, answer, code, status, message, bankText];
      return call(async (connection, again) => {
        const { rows } = await connection.query(statements.finish(values));
        if (rows.length > 0 || !again) return rows.length > 0;
        const found = await findWith(connection, id, now);
        // Nobody else has this attempt's Track-ID, and an operator would have signed.
        return found?.trackId === trackId && found.state === state && found.settledBy === null;
      });
    },
    release(id, trackId, { afterLease = false } = {}) {
      marks.forget(id);
      return call(async (connection, again) => {
        const { rows } = await connection.query(statements.release([id, trackId, afterLease]));
        if (rows.length > 0 || !again) return rows.length > 0;
        const found = await connection.query(statements.find([0, id, Number.MAX_SAFE_INTEGER]));
        return !found.rows.some((row) => parseRow(row).trackId === trackId);
      });
    },
    find,
    async search(query, now) {
      await endLeases(now);
      const records: PaymentRecord[] = [];
      const limit = query.limit ?? Number.POSITIVE_INFINITY;
      while (records.length < limit) {
        const wanted = Math.min(pageSize, limit - records.length);
        const page = await readPage(query, now, records.at(-1) ?? null, wanted);
        records.push(...page);
        if (page.length < wanted) break;
      }
      return records;
    },
    settle(id, state, settledBy, now) {
      const event = timelessLine(settleEvent(state, settledBy, now));
      return call(async (connection, again) => {
        const { rows } = await connection.query(
          statements.settle([timeOf(now), id, state, settledBy, event]),
        );
        if (rows.length > 0 || !again) return rows.length > 0;
        const found = await findWith(connection, id, now);
        return found?.state === state && found.settledBy === settledBy;
      });
    },
    close: () => opened().close().then(marks.close),
  };
  return store;
}

const limitStatements = (connection: PostgresConnection, limitMs: number) =>
  connection.query({
    text: "SELECT set_config('statement_timeout', $1, false)",
    values: [String(limitMs)],
  });
