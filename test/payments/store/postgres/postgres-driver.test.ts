import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createPaymentStore } from '../../../../src/payments/store/payment-store.ts';
import { countSql, postgresNow, searchSql } from '../../../../src/payments/store/payment-table.ts';
import { initPostgres } from '../../../../src/payments/store/postgres/postgres-server.ts';
import type { PaymentQuery, PaymentStore } from '../../../../src/payments/store/store.ts';
import { hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { describePaymentStore, retentionMs } from '../store-conformance.ts';
import { changed, connectDriver, newRow, openDriver } from './opened-driver.ts';

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  let postgres: TestPostgres;
  const open = () => openDriver(postgres, { allowVolatile: true });
  /** Moves the times of all stored rows back, as if time had passed. */
  const pass = async (ms: number) =>
    void (await postgres.query(
      `UPDATE bankql.payment SET created_at = created_at - ${ms}, updated_at = updated_at - ${ms}, lease_until = lease_until - ${ms}`,
    ));

  beforeAll(async () => {
    postgres = await startPostgres();
    await initPostgres(postgres.address);
  });
  beforeEach(() => postgres.forgetPayments());
  afterAll(async () => {
    await shared?.close();
    await postgres.stop();
  });

  let shared: PaymentStore | null = null;
  describePaymentStore('the PostgreSQL store', async () => {
    shared ??= createPaymentStore({
      name: 'postgres',
      // Periodic checks are off, because a row that a test deletes in the meantime would count as a loss.
      driver: await connectDriver(postgres, { allowVolatile: true, lookEveryMs: 2 ** 30 }),
      retentionMs,
      expiryPauseMs: 0,
    });
    return { store: shared, pass };
  });

  test('the times of a row are the server’s', async () => {
    const driver = await open();
    const row = await driver.insert(newRow('a', { lease_ms: 75_000 }));
    const [clock] = await postgres.query(`SELECT ${postgresNow} AS now`);
    expect(row).toMatchObject({
      id: 'a',
      version: 'v-1',
      json: '{}',
      created_at: row.now,
      updated_at: row.now,
    });
    expect(row.lease_until - row.created_at).toBe(75_000);
    expect(Math.abs(Number(clock?.now) - row.now)).toBeLessThan(60_000);
    expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(true);
    const after = await driver.find('a');
    expect(after).toMatchObject({ version: 'v-2', json: '{"done":1}', created_at: row.created_at });
    expect(after?.updated_at).toBeGreaterThanOrEqual(row.updated_at);
    expect(after?.now).toBeGreaterThanOrEqual(after?.updated_at ?? 0);
  });

  test('a payment is two statements, with nothing around them', async () => {
    const driver = await openDriver(postgres, { allowVolatile: true, lookEveryMs: 2 ** 30 });
    const sent = vi.spyOn(Client.prototype, 'query');
    try {
      await driver.insert(newRow('a'));
      expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(true);
      const names = sent.mock.calls.map(([statement]) => Object(statement).name);
      expect(names).toEqual(['bankql insert', 'bankql replace']);
    } finally {
      sent.mockRestore();
    }
  });

  test('of changes of one version at once one is made', async () => {
    const drivers = await Promise.all([open(), open()]);
    await drivers[0].insert(newRow('a'));
    await drivers[0].insert(newRow('b'));
    const results = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const version = `change-${n}`;
        const isDone = await drivers[n % 2 === 0 ? 0 : 1].compareAndSet('a', 'v-1', changed(version));
        return isDone ? version : null;
      }),
    );
    const made = results.filter((version) => version !== null);
    expect(made).toHaveLength(1);
    expect(await drivers[0].find('a')).toMatchObject({ version: made[0] });
    expect(await drivers[1].find('b')).toMatchObject({ version: 'v-1' });
  });

  test('a row is deleted if it has the version', async () => {
    const driver = await open();
    await driver.insert(newRow('a'));
    expect(await driver.compareAndSet('a', 'other', null)).toBe(false);
    expect(await driver.compareAndSet('a', 'v-1', null)).toBe(true);
    expect(await driver.find('a')).toBeNull();
    expect(await driver.compareAndSet('a', 'v-1', null)).toBe(false);
    expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(false);
  });

  test('a purge deletes finished rows after the retention, a part at a time, and nothing else', async () => {
    const driver = await open();
    const kept = ['pending', 'unknown', 'young'];
    for (const id of ['pending', 'unknown']) await driver.insert(newRow(id));
    await driver.compareAndSet('unknown', 'v-1', { version: 'v-2', state: 'UNKNOWN', json: '{}' });
    const ids = Array.from({ length: 700 }, (_, n) => `old-${n}`);
    await Promise.all(ids.map((id) => driver.insert(newRow(id, { state: 'DONE' }))));
    await pass(retentionMs + 60_000);
    await driver.insert(newRow('young', { state: 'REJECTED' }));
    expect(await driver.count()).toMatchObject({ pending: 0, unknown: 2 });
    const { now } = await driver.count();
    const purge = () => driver.purge(now - retentionMs);
    expect([await purge(), await purge(), await purge()]).toEqual([500, 200, 0]);
    const left = await postgres.query('SELECT id FROM bankql.payment ORDER BY id');
    expect(left.map(({ id }) => id)).toEqual(kept.toSorted());
  });

  test('a count and an insert do not wait behind searches', async () => {
    const driver = await open();
    await driver.insert(newRow('a'));
    const order: string[] = [];
    const search = (n: number) =>
      driver.search({ limit: 20 }).then(() => {
        order.push(`search ${n}`);
      });
    const searches = Array.from({ length: 200 }, (_, n) => search(n));
    await Promise.all([driver.count(), driver.insert(newRow('b')), driver.find('a')]);
    expect(order.length).toBeLessThan(200);
    await Promise.all(searches);
  });

  test('searches and counts use indexes', async () => {
    await postgres.query(`INSERT INTO bankql.payment (id, version, caller, payer, state, account_id, track_id, request_id,
      created_at, updated_at, lease_until, json)
      SELECT 'p-' || n, 'v', 'c-' || n % 500, 'p', CASE n % 1000 WHEN 1 THEN 'UNKNOWN' WHEN 2 THEN 'PENDING' ELSE 'DONE' END,
      'a', 't-' || n, 'r-' || n, ${postgresNow} + n, ${postgresNow}, ${postgresNow}, '' FROM generate_series(1, 20000) AS n`);
    await postgres.query('ANALYZE bankql.payment');
    const dialect = { table: 'bankql.payment', mark: '$', now: postgresNow } as const;
    const queries: readonly [PaymentQuery, string][] = [
      [{ states: ['UNKNOWN', 'PENDING'] }, 'payment_unfinished'],
      [{ caller: 'c-7', payer: 'p', newestFirst: true }, 'payment_by_caller'],
      [{ caller: 'c-7', states: ['PENDING'] }, 'payment_unfinished_by_caller'],
      [{ idPrefix: 'p-123' }, 'payment_pkey'],
      [{ trackId: 't-5' }, 'payment_by_track_id'],
      [{ requestId: 'r-5' }, 'payment_by_request_id'],
      [{ newestFirst: true }, 'payment_by_time'],
    ];
    for (const [query, index] of queries) {
      const { text, values } = searchSql({ limit: 20, ...query }, dialect);
      expect(JSON.stringify(await postgres.query(`EXPLAIN ${text}`, values))).toContain(`${index} `);
    }
    const count = JSON.stringify(await postgres.query(`EXPLAIN ${countSql(dialect)}`));
    for (const index of ['payment_unfinished', 'payment_by_time']) expect(count).toContain(`${index} `);
  });

  test('statements that are planned while the table is empty use its indexes later', async () => {
    const driver = await open();
    const ids = Array.from({ length: 20 }, (_, n) => `p-${n}`);
    // Each connection has planned its statements for an empty table.
    await Promise.all(ids.map((id) => driver.insert(newRow(id))));
    await Promise.all(ids.map((id) => driver.compareAndSet(id, 'v-1', null)));
    await postgres.query(`INSERT INTO bankql.payment (id, version, caller, payer, state, account_id, track_id,
      created_at, updated_at, lease_until, json)
      SELECT 'q-' || n, 'v', 'c', 'p', 'DONE', 'a', 't-' || n, 0, 0, 0, '' FROM generate_series(1, 5000) AS n`);
    const scans = async () =>
      Number(
        (
          await postgres.query("SELECT seq_tup_read AS n FROM pg_stat_user_tables WHERE relname = 'payment'")
        )[0]?.n,
      );
    const before = await scans();
    await Promise.all(ids.map((id) => driver.insert(newRow(id))));
    await Promise.all(ids.map((id) => driver.compareAndSet(id, 'v-1', changed('v-2'))));
    await Promise.all(ids.map((id) => driver.find(id)));
    await driver.close();
    expect(await scans()).toBe(before);
  });

  test('a text keeps the place of the one character that PostgreSQL does not take', async () => {
    const driver = await open();
    await driver.insert(newRow('a', { to_account_id: 'a\0b' }));
    expect(await postgres.query('SELECT to_account_id FROM bankql.payment')).toEqual([
      { to_account_id: 'a␀b' },
    ]);
    expect(await driver.compareAndSet('a', 'v-1', { ...changed('v-2'), json: '\0' })).toBe(true);
    expect(await driver.search({ limit: 1, idPrefix: '\0' })).toEqual([]);
  });

  test('a process ends although nobody closed its store', async () => {
    const driver = await open();
    await driver.count();
    expect(process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')).toEqual([]);
  });
});
