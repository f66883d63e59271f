import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type StoreDriver, WriteUncertain } from '../../../../src/payments/store/driver.ts';
import { createPaymentStore } from '../../../../src/payments/store/payment-store.ts';
import { initPostgres } from '../../../../src/payments/store/postgres/postgres-server.ts';
import { StoreUnavailable } from '../../../../src/payments/store/store.ts';
import { inTimeMs } from '../../../support/in-time.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { openTcpGate } from '../../../support/tcp-gate.ts';
import { until } from '../../../support/waits.ts';
import { lease, pending, retentionMs } from '../store-conformance.ts';
import { changed, newRow, openDriver } from './opened-driver.ts';

let postgres: TestPostgres;

const open = () => openDriver(postgres);
/** A driver with a short deadline for statements. Opening it has no deadline, however slow the server is. */
const openHasty = (statementTimeoutMs = 300) => openDriver(postgres, { statementTimeoutMs });

/** Stores a row without the short deadline, which a busy machine may exceed. */
const insertBefore = async () => (await open()).insert(newRow('before'));

/** The error of a call, which must fail in time. */
async function failure(call: Promise<unknown>): Promise<Error> {
  const began = performance.now();
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(performance.now() - began).toBeLessThan(inTimeMs);
  expect(error).toBeInstanceOf(StoreUnavailable);
  return error instanceof Error ? error : expect.fail();
}

/** Repeats a call until the server answers. */
const answers = (driver: StoreDriver) =>
  expect.poll(() => driver.find('none').catch(() => 'not yet'), { interval: 50 });

const idsOf = async () =>
  (await postgres.query('SELECT id FROM bankql.payment ORDER BY id')).map(({ id }) => id);

async function connectAsRoot() {
  const { socketFolder: host, port } = postgres;
  const client = new Client({ host, port, user: 'postgres', database: 'bankql' });
  await client.connect();
  return { client, end: () => client.end() };
}

/** A connection that locks the table until it is closed. */
async function lockTable(): Promise<{ unlock(): Promise<void> }> {
  const { client, end } = await connectAsRoot();
  await client.query('BEGIN; LOCK TABLE bankql.payment IN ACCESS EXCLUSIVE MODE');
  return { unlock: end };
}

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  beforeAll(async () => {
    postgres = await startPostgres(durable);
    await initPostgres(postgres.address);
  });
  beforeEach(() => postgres.forgetPayments());
  afterAll(() => postgres.stop());

  test('a server that is down fails calls in time, and is used again when it is back', async () => {
    const driver = await open();
    await driver.insert(newRow('a'));
    await postgres.kill();
    const calls = [driver.find('a'), driver.count(), driver.search({ limit: 1 }), driver.purge(0)];
    for (const error of await Promise.all(calls.map(failure)))
      expect(error.message).toContain('is not available: ');
    // By now, the driver knows that it has no connection, and sends nothing.
    expect(await failure(driver.insert(newRow('b')))).not.toBeInstanceOf(WriteUncertain);
    await expect(openDriver(postgres, { startTimeoutMs: 0 })).rejects.toThrow(
      /cannot be reached: .*ECONNREFUSED.*\. STATE_URL has to name a PostgreSQL that runs\./,
    );
    await postgres.restart();
    await answers(driver).toBeNull();
    expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(true);
    expect(await idsOf()).toEqual(['a']);
  });

  test('a start waits for a server that is not there yet', async () => {
    await postgres.kill();
    const opening = openDriver(postgres);
    await postgres.restart();
    expect(await (await opening).find('a')).toBeNull();
  });

  test('a server that is killed under inserts has stored each that was confirmed', async () => {
    const driver = await open();
    const ids = Array.from({ length: 300 }, (_, n) => `p-${String(n).padStart(3, '0')}`);
    const inserts = ids.map(async (id, n) => {
      for (let turn = 0; turn < n / 10; turn++) await driver.find('none').catch(() => {});
      return driver.insert(newRow(id));
    });
    const settled = Promise.allSettled(inserts);
    await inserts[0];
    await postgres.kill();
    const results = await settled;
    await postgres.restart();
    const stored = new Set(await idsOf());
    for (const [n, result] of results.entries()) {
      if (result.status === 'fulfilled') expect(stored).toContain(ids[n]);
      else if (!(result.reason instanceof WriteUncertain)) expect(stored).not.toContain(ids[n]);
    }
  });

  test('connections that an operator ends are followed by others, and fail at most one call each', async () => {
    const driver = await open();
    for (let n = 0; n < 5; n++) {
      const opened = await Promise.all([driver.find('a'), driver.find('b'), driver.count()]);
      await postgres.cut();
      const insert = () => driver.insert(newRow(`p-${n}`)).catch(() => null);
      let failed = 0;
      while ((await insert()) === null) failed++;
      expect(failed).toBeLessThanOrEqual(opened.length);
      expect(await driver.compareAndSet(`p-${n}`, 'v-1', changed('v-2'))).toBe(true);
    }
  });

  test('a paused server makes writes uncertain in time, and they are taken back when it goes on', async () => {
    const driver = await openHasty();
    const store = createPaymentStore({ name: 'postgres', driver, retentionMs });
    await insertBefore();
    await postgres.pause();
    try {
      expect((await failure(store.begin(pending({ trackId: 't-2' }), lease))).message).toContain('timeout');
    } finally {
      await postgres.resume();
    }
    await answers(driver).toBeNull();
    await expect.poll(idsOf).toEqual(['before']);
  });

  describe('a connection that is cut under a statement', () => {
    async function openBehindGate() {
      const gate = await openTcpGate(postgres.port);
      onTestFinished(() => gate.close());
      const driver = await openDriver({ address: { ...postgres.address, port: gate.port } });
      return { gate, driver };
    }

    test('makes a write uncertain, and is followed by another one, which finds what it did', async () => {
      const { gate, driver } = await openBehindGate();
      const lost = (call: () => Promise<unknown>) => {
        gate.loseNextAnswer();
        return failure(call());
      };
      expect(await lost(() => driver.insert(newRow('a')))).toBeInstanceOf(WriteUncertain);
      expect(await driver.find('a')).toMatchObject({ version: 'v-1' });
      const change = () => driver.compareAndSet('a', 'v-1', changed('v-2'));
      expect(await lost(change)).toBeInstanceOf(WriteUncertain);
      expect(await driver.find('a')).toMatchObject({ version: 'v-2' });
      expect(await lost(() => driver.compareAndSet('a', 'v-2', null))).toBeInstanceOf(WriteUncertain);
      expect(await driver.find('a')).toBeNull();
    });

    test('refuses the payment, which is taken back: no standby may have confirmed it', async () => {
      const { gate, driver } = await openBehindGate();
      const store = createPaymentStore({ name: 'postgres', driver, retentionMs });
      gate.loseNextAnswer();
      expect(await failure(store.begin(pending({ id: 'a' }), lease))).toBeInstanceOf(WriteUncertain);
      await expect.poll(idsOf).toEqual([]);
      expect(await store.begin(pending({ id: 'a', trackId: 'again' }), lease)).toBeNull();
    });

    test('makes a write uncertain also if no other can be opened', async () => {
      const { gate, driver } = await openBehindGate();
      gate.loseNextAnswer();
      gate.refuse(true);
      expect(await failure(driver.insert(newRow('a')))).toBeInstanceOf(WriteUncertain);
      expect(await idsOf()).toEqual(['a']);
      // Nothing is sent any more.
      expect(await failure(driver.insert(newRow('b')))).not.toBeInstanceOf(WriteUncertain);
      gate.refuse(false);
      await answers(driver).toBeNull();
      expect(await driver.compareAndSet('a', 'v-1', null)).toBe(true);
    });
  });

  test('a double tap that waits for the other process delays and refuses no other payment', async () => {
    const driver = await open();
    await driver.insert(newRow('a'));
    const { client, end } = await connectAsRoot();
    // Another process is storing a row with this id, and its commit is delayed.
    await client.query("BEGIN; UPDATE bankql.payment SET id = 'b' WHERE id = 'a'");
    const tapped = driver.insert(newRow('b'));
    const others = ['c', 'd'].map((id) => driver.insert(newRow(id)));
    expect(await Promise.all(others)).toMatchObject([{ id: 'c' }, { id: 'd' }]);
    await end();
    expect(await tapped).toMatchObject({ id: 'b', version: 'v-1' });
  });

  test('a commit that breaks its connection refuses no other payment', async () => {
    const driver = await open();
    await postgres.query(`CREATE FUNCTION bankql.break() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER break AFTER INSERT ON bankql.payment DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.id = 'b') EXECUTE FUNCTION bankql.break()`);
    try {
      const inserts = ['a', 'b', 'c'].map((id) => driver.insert(newRow(id)));
      const [, broken] = await Promise.allSettled(inserts);
      expect(broken).toEqual({ status: 'rejected', reason: expect.any(WriteUncertain) });
      expect(await Promise.all([inserts[0], inserts[2]])).toMatchObject([{ id: 'a' }, { id: 'c' }]);
    } finally {
      await postgres.query('DROP FUNCTION bankql.break() CASCADE');
    }
    expect(await idsOf()).toEqual(['a', 'c']);
  });

  test('a lock that others hold fails calls in time, with nothing stored', async () => {
    const driver = await openHasty();
    const { unlock } = await lockTable();
    try {
      for (let n = 0; n < 3; n++) {
        const error = await failure(driver.insert(newRow('a')));
        expect(error.message).toMatch(/due to (lock|statement) timeout/);
        expect(error).not.toBeInstanceOf(WriteUncertain);
      }
    } finally {
      await unlock();
    }
    await answers(driver).toBeNull();
    expect(await idsOf()).toEqual([]);
  });

  test('more calls than connections fail in time while all of them wait', async () => {
    const driver = await openHasty();
    const { unlock } = await lockTable();
    try {
      await Promise.all(Array.from({ length: 40 }, (_, n) => failure(driver.find(`p-${n}`))));
    } finally {
      await unlock();
    }
    await answers(driver).toBeNull();
  });

  test('a primary that becomes read-only fails writes, and is used again when it takes them', async () => {
    const driver = await open();
    const readOnly = async (value: string) => {
      await postgres.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await postgres.query('SELECT pg_reload_conf()');
    };
    await readOnly('on');
    let tries = 0;
    const insert = () => driver.insert(newRow(`try-${tries++}`));
    await expect.poll(() => insert().catch(String)).toContain('it is read-only');
    await expect(openDriver(postgres)).rejects.toThrow(/cannot be used: it is read-only/);
    await readOnly('off');
    await expect.poll(() => insert().catch(String)).toMatchObject({ version: 'v-1' });
  });

  test('the setting of a commit stays as it was checked', async () => {
    const driver = await open();
    await driver.insert(newRow('a'));
    await postgres.query('ALTER SYSTEM SET synchronous_commit = off');
    await postgres.query('SELECT pg_reload_conf()');
    try {
      await until(
        async () => (await postgres.query('SHOW synchronous_commit'))[0]?.synchronous_commit === 'off',
      );
      await expect(openDriver(postgres)).rejects.toThrow('synchronous_commit is off');
      // Open connections continue with their calls.
      expect(await driver.insert(newRow('b'))).toMatchObject({ version: 'v-1' });
    } finally {
      await postgres.query('ALTER SYSTEM RESET synchronous_commit');
      await postgres.query('SELECT pg_reload_conf()');
    }
  });

  test.each([
    ['fsync', 'off', /its fsync is off, so that a power cut forgets payments: set "fsync = on"/],
    ['full_page_writes', 'off', /its full_page_writes is off/],
    ['synchronous_commit', 'off', /its synchronous_commit is off.*set "synchronous_commit = on"/],
  ])('a server with %s = %s is refused, unless that is accepted', async (name, value, reason) => {
    await postgres.restart({ [name]: value });
    try {
      await expect(openDriver(postgres)).rejects.toThrow(reason);
      await expect(openDriver(postgres)).rejects.toThrow('STATE_ALLOW_VOLATILE=1');
      const driver = await openDriver(postgres, { allowVolatile: true });
      expect(await driver.insert(newRow('a'))).toMatchObject({ id: 'a' });
    } finally {
      await postgres.restart({ [name]: 'on' });
    }
  });

  test('warnings of a server that is near a wraparound of its transaction ids refuse no payment', async () => {
    await using server = await startPostgres(durable);
    await initPostgres(server.address);
    await server.ageTransactionIds();
    const client = new Client({ ...server.address, password: '', ssl: false });
    const warnings: unknown[] = [];
    client.on('notice', ({ message }) => warnings.push(message));
    await client.connect();
    await client.query('CREATE TABLE own (id text)').finally(() => client.end());
    expect(warnings).toEqual([expect.stringMatching(/must be vacuumed within \d+ transactions/)]);
    const driver = await openDriver(server);
    expect(await driver.insert(newRow('a'))).toMatchObject({ version: 'v-1' });
    expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(true);
  });

  describe('while a synchronous standby is silent', () => {
    test('a payment is refused, and taken back although its commit waits for ever; backends do not pile up', async () => {
      const driver = await openHasty();
      const store = createPaymentStore({ name: 'postgres', driver, retentionMs });
      await insertBefore();
      await postgres.waitForStandby();
      const waiting = async () =>
        (
          await postgres.query(
            "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'bankql'",
          )
        ).length;
      try {
        for (let n = 0; n < 5; n++)
          await failure(store.begin(pending({ id: `p-${n}`, trackId: `t-${n}` }), lease));
        await expect.poll(idsOf).toEqual(['before']);
        expect(await waiting()).toBeLessThanOrEqual(6);
      } finally {
        await postgres.confirmNothing();
      }
      await answers(driver).toBeNull();
      await expect
        .poll(() => store.begin(pending({ id: 'p-1', trackId: 'again' }), lease).catch(String))
        .toBeNull();
      await expect.poll(idsOf).toEqual(['before', 'p-1']);
    });

    test('a write whose wait an operator ends is uncertain: it may not survive a failover', async () => {
      const driver = await open();
      await driver.insert(newRow('before'));
      await postgres.waitForStandby();
      try {
        const refused = failure(driver.insert(newRow('a')));
        const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        await expect.poll(() => postgres.query(cancel)).not.toEqual([]);
        const isOver = refused.then(() => true);
        // The row with the identity is written first, because the standbys have to confirm now.
        await until(async () => Promise.race([isOver, postgres.query(cancel).then(() => false)]));
        const error = await refused;
        expect(error.message).toContain('the server warned: ');
        expect(error).toBeInstanceOf(WriteUncertain);
      } finally {
        await postgres.confirmNothing();
      }
      expect(await idsOf()).toEqual(['a', 'before']);
    });
  });
});
