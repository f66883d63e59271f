import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentStore, StoreEvent } from '../../../../src/payments/store.ts';
import { openStore } from '../../../../src/payments/stores/open-store.ts';
import { searchSql } from '../../../../src/payments/stores/payment-columns.ts';
import type { PostgresStoreOptions } from '../../../../src/payments/stores/postgres/postgres-store.ts';
import { hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { openPostgres } from '../opened-stores.ts';
import {
  describePaymentStore,
  done,
  lease,
  pending,
  rejected,
  retentionMs,
  start,
  stored,
} from '../store-conformance.ts';

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  const { id, trackId } = pending();
  let postgres: TestPostgres;

  const open = (change: Partial<PostgresStoreOptions> = {}) =>
    openPostgres(postgres, { allowVolatile: true, ...change });
  const statesOf = async () =>
    (await postgres.query('SELECT state FROM bankql.payment ORDER BY id')).map(({ state }) => state);

  beforeAll(async () => {
    postgres = await startPostgres();
    // Its statements make many at once, for all tests that follow.
    await (await openStore(postgres.url, { retentionMs, allowVolatile: true, timeoutMs: 60_000 })).close();
  });
  beforeEach(async () => {
    await postgres.query(
      `DELETE FROM bankql.payment; UPDATE bankql.tally SET began = 0, gone = 0, newest_at = NULL`,
    );
  });
  afterAll(() => postgres.stop());

  describePaymentStore('the PostgreSQL store', () => open());

  test('two processes that begin one payment 200 times store it once', async () => {
    const stores = await Promise.all([open(), open()]);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        stores[n % 2 === 0 ? 0 : 1].begin(pending({ trackId: `attempt-${n}` }), start),
      ),
    );
    expect(answers.filter((answer) => answer === null)).toHaveLength(1);
    expect(new Set(answers.flatMap((answer) => answer?.trackId ?? [])).size).toBe(1);
  });

  test('keeps payments across a restart of bankql', async () => {
    const first = await open();
    await first.begin(pending(), start);
    await first.close();
    const second = await open();
    expect(await second.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
    expect(await second.end({ id, trackId, outcome: done, at: start })).toBe(true);
  });

  test('counts what was begun and what is gone, whoever does it', async () => {
    const stores = await Promise.all([open(), open()]);
    const ids = Array.from({ length: 60 }, (_, n) => `p-${n}`);
    await Promise.all(
      ids.map((other, n) => stores[n % 2 === 0 ? 0 : 1].begin(pending({ id: other }), start)),
    );
    await Promise.all(
      ids.slice(0, 20).map((other) => stores[0].end({ id: other, trackId, outcome: null, at: start })),
    );
    expect(await stores[1].status(start)).toEqual({ records: 40, pending: 40, unknown: 0, newestAt: start });
    const [tally] = await postgres.query(
      'SELECT sum(began)::int AS began, sum(gone)::int AS gone FROM bankql.tally',
    );
    expect(tally).toEqual({ began: 60, gone: 20 });
  });

  test.each([done, rejected])('forgets a $state record after the retention, and says so', async (outcome) => {
    const events: StoreEvent[] = [];
    const store = await open({ onEvent: (event) => events.push(event) });
    for (const other of ['a', 'b']) {
      await store.begin(pending({ id: other }), start);
      await store.end({ id: other, trackId, outcome, at: start });
    }
    await store.close();
    const later = await open({ onEvent: (event) => events.push(event) });
    const now = start + retentionMs + 1;
    expect(await later.begin(pending({ id: 'c', leaseUntil: now + lease }), now)).toBeNull();
    await expect.poll(statesOf).toEqual(['PENDING']);
    await expect.poll(() => events).toEqual([{ kind: 'purge', deleted: 2, expired: 2, records: 3 }]);
    expect(await later.status(now)).toMatchObject({ records: 1 });
  });

  test('lists more records than it reads at once, in order, and no more than asked for', async () => {
    const store = await open();
    const ids = Array.from({ length: 700 }, (_, n) => `p-${String(n).padStart(3, '0')}`);
    await Promise.all(ids.map((other) => store.begin(pending({ id: other }), start)));
    const idsOf = async (query: Parameters<PaymentStore['search']>[0]) =>
      (await store.search(query, start)).map((record) => record.id);
    expect(await idsOf({ states: ['PENDING'] })).toEqual(ids);
    expect(await idsOf({ newestFirst: true, limit: 600 })).toEqual(ids.toReversed().slice(0, 600));
  });

  test('ends more leases than one statement does', async () => {
    const store = await open();
    const ids = Array.from({ length: 600 }, (_, n) => `p-${n}`);
    await Promise.all(ids.map((other) => store.begin(pending({ id: other }), start)));
    expect(await store.search({ states: ['PENDING'] }, start + lease)).toEqual([]);
    expect(new Set(await statesOf())).toEqual(new Set(['UNKNOWN']));
  });

  test.each([
    ['by state', { states: ['UNKNOWN'] }, 'payment_unfinished'],
    ['by caller', { caller: 'c-7', payer: 'p', newestFirst: true, limit: 20 }, 'payment_by_caller'],
    [
      'by caller and state',
      { caller: 'c-7', payer: 'p', states: ['PENDING'] },
      'payment_unfinished_by_caller',
    ],
    ['by id', { idPrefix: 'p-123' }, 'payment_pkey'],
    ['by Track-ID', { trackId: 't-5' }, 'payment_by_track_id'],
    ['by request', { requestId: 'r-5' }, 'payment_by_request_id'],
    ['by time', { newestFirst: true, limit: 20 }, 'payment_by_time'],
  ] as const)('answers %s from an index', async (_, query, index) => {
    await postgres.query(`INSERT INTO bankql.payment (id, version, caller, payer, state, account_id, track_id, request_id,
      created_at, updated_at, lease_until, json)
      SELECT 'p-' || n, 'v', 'c-' || n % 500, 'p', CASE n % 1000 WHEN 1 THEN 'UNKNOWN' WHEN 2 THEN 'PENDING' ELSE 'DONE' END,
      'a', 't-' || n, 'r-' || n, n, n, n, '' FROM generate_series(1, 20000) AS n`);
    await postgres.query('ANALYZE bankql.payment');
    const { text, values } = searchSql({ limit: 20, ...query }, '$', 'bankql.payment');
    const plan = await postgres.query(`EXPLAIN ${text}`, values);
    expect(JSON.stringify(plan)).toContain(`${index} `);
  });

  test('keeps a text with the one character that PostgreSQL does not take', async () => {
    const store = await open();
    expect(await store.begin(pending({ toAccountId: 'a\0b' }), start)).toBeNull();
    expect(await store.find(id, start)).toEqual(stored({ toAccountId: 'a\0b' }));
    expect(await store.end({ id, trackId, outcome: { ...rejected, bankText: '\0' }, at: start })).toBe(true);
  });
});
