import { matchesQuery, type Row, type RowQuery, type StoreDriver } from '../driver.ts';
import { newMetadata } from '../lost-records.ts';
import { prepareProtocol, type StoreOptions } from '../protocol-store.ts';
import { type PaymentStore, StoreUnavailable } from '../store.ts';
import { finishedStates } from './payment-columns.ts';

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape:  a PaymentStore; it belongs to one process. A record's age is counted from its last change.
 * Errors: StoreUnavailable after close, and never before.
 */
export function createMemoryStore({
  retentionMs,
  onEvent,
}: Pick<StoreOptions, 'retentionMs' | 'onEvent'>): PaymentStore {
  const initial = { version: 'first', metadata: newMetadata(null) };
  const { version, metadata } = initial;
  const { run } = prepareProtocol({
    name: 'in memory',
    retentionMs,
    onEvent,
    markFiles: [],
    allowVolatile: true,
    countsAreConfirmed: false,
    initial,
  });
  return run(createMemoryDriver({ version, text: JSON.stringify(metadata) }));
}

/** `metadata`: what it begins with. */
export function createMemoryDriver(
  metadata: { readonly version: string; readonly text: string } | null = null,
): StoreDriver {
  const rows = new Map<string, Row>();
  /** The same by caller: nobody's search looks at the rows of others. */
  const byCaller = new Map<string, Map<string, Row>>();
  let began = 0;
  let newestAt: number | null = null;
  let closed = false;

  function assertOpen(): void {
    if (closed) throw new StoreUnavailable('The payment store in memory is closed.');
  }

  function put(row: Row): void {
    const { caller } = row.held.record;
    rows.set(row.id, row);
    byCaller.set(caller, (byCaller.get(caller) ?? new Map<string, Row>()).set(row.id, row));
  }

  function remove({ id, held }: Row): void {
    const { caller } = held.record;
    const own = byCaller.get(caller);
    rows.delete(id);
    own?.delete(id);
    if (own?.size === 0) byCaller.delete(caller);
  }

  const isExpired = ({ held: { record } }: Row, before: number) =>
    finishedStates.has(record.state) && record.updatedAt < before;

  function search(query: RowQuery): Row[] {
    const { newestFirst, after, limit } = query;
    const direction = newestFirst ? -1 : 1;
    const compare = (a: Pick<Row, 'created_at' | 'id'>, b: Pick<Row, 'created_at' | 'id'>) =>
      direction * (a.created_at - b.created_at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
    const searched = query.caller === undefined ? rows : byCaller.get(query.caller);
    return [...(searched?.values() ?? [])]
      .filter(
        (row) => matchesQuery(row.held.record, query) && (after === undefined || compare(row, after) > 0),
      )
      .sort(compare)
      .slice(0, limit);
  }

  return {
    async insertIfAbsent(row) {
      assertOpen();
      const existing = rows.get(row.id) ?? null;
      if (existing === null) {
        put(row);
        began++;
        newestAt = Math.max(newestAt ?? row.created_at, row.created_at);
      }
      return { existing, began, newestAt, metadataVersion: metadata?.version ?? null, serverTime: null };
    },
    async compareAndSet(id, version, row) {
      assertOpen();
      const old = rows.get(id);
      if (old?.version !== version) return false;
      if (row === null) remove(old);
      else put(row);
      return true;
    },
    async find(id) {
      assertOpen();
      return rows.get(id) ?? null;
    },
    async search(query) {
      assertOpen();
      return search(query);
    },
    async findMissing(attempts) {
      return attempts.filter(({ id, trackId }) => rows.get(id)?.held.record.trackId !== trackId);
    },
    async purge(before) {
      const gone = [...rows.values()].filter((row) => isExpired(row, before));
      for (const row of gone) remove(row);
      return gone.length;
    },
    async count(before, leaseUntil) {
      assertOpen();
      const kept = [...rows.values()].filter((row) => !isExpired(row, before));
      const unfinished = kept.filter(({ held }) => !finishedStates.has(held.record.state));
      const pending = unfinished.filter(
        ({ held: { record } }) => record.state === 'PENDING' && record.leaseUntil > leaseUntil,
      ).length;
      return {
        records: kept.length,
        expired: rows.size - kept.length,
        pending,
        unknown: unfinished.length - pending,
        newestAt: kept.reduce<number | null>(
          (newest, row) => Math.max(newest ?? row.created_at, row.created_at),
          null,
        ),
      };
    },
    async readMetadata() {
      assertOpen();
      const { version: metadataVersion = null, text = null } = metadata ?? {};
      return { began, newestAt, metadataVersion, serverTime: null, text, server: null };
    },
    async writeMetadata(version, next) {
      assertOpen();
      if ((metadata?.version ?? null) !== version) return false;
      metadata = next;
      return true;
    },
    async settleWrites() {},
    async close() {
      closed = true;
      rows.clear();
      byCaller.clear();
    },
  };
}
