import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StoreEvent } from '../../../../src/payments/store.ts';
import { type PaymentStore, StoreUnavailable } from '../../../../src/payments/store.ts';
import type { PostgresStoreOptions } from '../../../../src/payments/stores/postgres/postgres-store.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { lateBy } from '../../../support/waits.ts';
import { openPostgres } from '../opened-stores.ts';
import { done, pending, start } from '../store-conformance.ts';

const { trackId } = pending();

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  const folder = testFolder();
  let postgres: TestPostgres;
  let files = 0;
  let witness: string;

  const open = (change: Partial<PostgresStoreOptions> = {}) => openPostgres(postgres, change);
  const begin = (store: PaymentStore, id: string) => store.begin(pending({ id }), start);

  async function refusal(store: PaymentStore): Promise<string> {
    const error: unknown = await begin(store, 'refused').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    return String(error);
  }

  /** All that the store holds now; the answer puts it back, and nothing else. */
  async function backup(): Promise<() => Promise<void>> {
    const tables = ['payment', 'store', 'tally'];
    for (const table of tables)
      await postgres.query(
        `DROP TABLE IF EXISTS saved_${table}; CREATE TABLE saved_${table} AS TABLE bankql.${table}`,
      );
    return async () => {
      for (const table of tables)
        await postgres.query(
          `DELETE FROM bankql.${table}; INSERT INTO bankql.${table} SELECT * FROM saved_${table}`,
        );
    };
  }

  beforeAll(async () => {
    postgres = await startPostgres(durable);
  });
  beforeEach(async () => {
    await postgres.empty();
    witness = join(folder, `witness-${files++}`);
  });
  afterAll(() => postgres.stop());

  test('a store has a secret, the same for all, and for as long as it exists', async () => {
    const stores = await Promise.all([open(), open(), open()]);
    expect(new Set(stores.map(({ secret }) => secret)).size).toBe(1);
    await postgres.empty();
    expect((await open()).secret).not.toBe(stores[0].secret);
  });

  test('an emptied database is noticed at the start by the witness, and refused until that is accepted', async () => {
    const before = await open({ witness });
    await begin(before, 'a');
    await begin(before, 'b');
    await before.close();
    expect(JSON.parse(readFileSync(witness, 'utf8'))).toMatchObject({ began: 2, newestAt: start });
    await postgres.empty();
    const events: StoreEvent[] = [];
    const ignorant = await open({ onEvent: (event) => events.push(event) });
    expect(await begin(ignorant, 'c')).toBeNull();

    const store = await open({ witness });
    expect(store.loss).toMatch(/knows of 2 payments until .+ it is another store, of 1 payment/);
    expect(await refusal(store)).toContain('it has lost records');
    expect(await refusal(ignorant)).toContain('it has lost records');
    expect(await store.find('c', start)).toMatchObject({ state: 'PENDING' });
    expect(await store.end({ id: 'c', trackId, outcome: done, at: start })).toBe(true);
    expect((await open()).loss).toBe(store.loss);

    const operator = await open({ witness, create: false });
    await operator.acceptLoss('Ada: the server was replaced', start + 5);
    for (const [n, each] of [ignorant, store, operator, await open({ witness })].entries()) {
      expect(await begin(each, `d-${n}`)).toBeNull();
      expect(each.loss).toBeNull();
    }
    // The store reports the loss again if it checks once more and finds another number of payments.
    const [last, ...earlier] = events.map(({ kind }) => kind).reverse();
    expect([last, ...new Set(earlier)]).toEqual(['loss-accepted', 'loss']);
    const [row] = await postgres.query('SELECT metadata FROM bankql.store');
    expect(JSON.parse(String(row?.metadata)).decisions).toMatchObject([
      { by: 'Ada: the server was replaced', at: start + 5 },
    ]);
  });

  test('an older copy that is put back under a running bankql is noticed by the next payment', async () => {
    const store = await open();
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await store.end({ id: 'b', trackId, outcome: done, at: start });
    await restore();
    await expect(store.begin(pending({ id: 'b', trackId: 'again' }), start)).rejects.toThrow(
      'it has lost records',
    );
    expect(await refusal(store)).toContain('it has lost records');
  });

  test('an older copy that was put back into the same server while no bankql ran is noticed by the witness alone', async () => {
    const store = await open({ witness });
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await store.close();
    await restore();
    expect((await open()).loss).toBeNull();
    expect((await open({ witness })).loss).toContain('knows of 2 payments');
  });

  test('an older copy that was put back is noticed at the start, and while bankql runs', async () => {
    const store = await open({ witness });
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await restore();
    await postgres.cut();
    await expect.poll(() => refusal(store)).toContain('knows of 2 payments');
    const operator = await open({ create: false });
    await operator.acceptLoss('Ada', start);
    // Of 'b' this process knows that it is under way.
    expect(await begin(store, 'c')).toBeNull();
    expect(await store.status(start)).toMatchObject({ records: 2 });
    expect((await open({ witness })).loss).toBeNull();
  });

  test('a beginning that is gone is noticed also where another process has begun as many since', async () => {
    const store = await open();
    await begin(store, 'a');
    const restore = await backup();
    await begin(store, 'b');
    await begin(store, 'released');
    await store.end({ id: 'released', trackId, outcome: null, at: start });
    await restore();
    const other = await open();
    for (const id of ['c', 'd', 'e']) expect(await begin(other, id)).toBeNull();
    await postgres.cut();
    const lost =
      'of the latest 2 payments of this process 1 are missing, the first of 2026-01-15T00:00:00.000Z';
    await expect.poll(() => refusal(store)).toContain(lost);
    await expect.poll(() => refusal(other)).toContain(lost);
  });

  test.each([
    ['', (payer: number, n: number) => ({ id: `p-${payer}-${n}`, trackId })],
    [
      ', nor is what was begun again since',
      (payer: number, n: number) => ({ id: `p-${payer}`, trackId: `t-${n}` }),
    ],
  ])('what is taken back while a new connection looks for it is no loss%s', async (_, attemptOf) => {
    const store = await open();
    let over = false;
    const payers = Array.from({ length: 12 }, async (_, payer) => {
      for (let n = 0; !over; n++) {
        const attempt = attemptOf(payer, n);
        await store.begin(pending(attempt), start).catch(() => {});
        // The bank's answer, meanwhile.
        await lateBy(2);
        await store
          .end({ id: attempt.id, trackId: attempt.trackId, outcome: null, at: start })
          .catch(() => {});
        // Refusals come at once: the connections need their turn as well.
        await lateBy(1);
      }
    });
    for (let n = 0; n < 12; n++) {
      await postgres.cut();
      await lateBy(60);
    }
    over = true;
    await Promise.all(payers);
    expect((await open()).loss).toBeNull();
  });

  test('tables that are dropped while bankql runs are made anew, with the loss in them', async () => {
    const store = await open();
    const { secret } = store;
    await begin(store, 'a');
    await postgres.empty();
    await expect.poll(() => refusal(store)).toContain('it is new and holds none of them');
    expect(store.secret).toBe(secret);
    expect(await (await open()).find('a', start)).toBeNull();
  });

  test('is nothing to a store that may forget payments', async () => {
    const store = await open({ witness, allowVolatile: true });
    await begin(store, 'a');
    await postgres.empty();
    await expect.poll(() => begin(store, 'b').catch(() => 'not yet')).toBeNull();
    expect((await open({ witness, allowVolatile: true })).loss).toBeNull();
  });

  test('times are the server’s, whatever the clock of a process says', async () => {
    const behindMs = 31 * 24 * 60 * 60 * 1000;
    const clocks = { wallClock: () => Date.now() - behindMs, monotonic: () => performance.now() };
    const store = await open({ clocks });
    const wrong = clocks.wallClock();
    const record = pending({ createdAt: wrong, updatedAt: wrong, leaseUntil: wrong + 60_000 });
    await store.begin(record, wrong);
    await store.end({ id: record.id, trackId, outcome: done, at: wrong });
    const found = await store.find(record.id, wrong);
    for (const at of [found?.createdAt, found?.updatedAt, ...(found?.history ?? []).map((event) => event.at)])
      expect(Math.abs((at ?? 0) - Date.now())).toBeLessThan(10_000);
    expect((found?.leaseUntil ?? 0) - (found?.createdAt ?? 0)).toBe(60_000);
  });

  test.each([1, 99])('tables of version %i are refused, and stay as they are', async (version) => {
    await open();
    await postgres.query('UPDATE bankql.store SET version = $1', [version]);
    await expect(open()).rejects.toThrow(
      `of version ${version}, and this bankql knows 2: run the bankql that made them`,
    );
    expect(await postgres.query('SELECT version FROM bankql.store')).toEqual([{ version }]);
  });

  test('a role that may make no schema is told what its owner has to do', async () => {
    await postgres.query('DROP ROLE IF EXISTS app');
    await postgres.query('CREATE ROLE app LOGIN');
    const address = { ...postgres.address, user: 'app' };
    await expect(open({ address })).rejects.toThrow(/permission denied .*CREATE SCHEMA bankql AUTHORIZATION/);
    await postgres.query('CREATE SCHEMA bankql AUTHORIZATION app');
    expect(await begin(await open({ address }), 'a')).toBeNull();
  });

  test('a store that is not made where there is none refuses an empty database', async () => {
    await expect(open({ create: false })).rejects.toThrow('it holds no payments of bankql');
    expect(await postgres.query("SELECT to_regnamespace('bankql') AS found")).toEqual([{ found: null }]);
    await open();
    expect(await (await open({ create: false })).search({ states: ['UNKNOWN'] }, start)).toEqual([]);
  });
});
