import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PaymentStore, StoreUnavailable } from '../../../../src/payments/store.ts';
import type { PostgresStoreOptions } from '../../../../src/payments/stores/postgres/postgres-store.ts';
import { inTimeMs } from '../../../support/in-time.ts';
import { openLossyGate } from '../../../support/lossy-gate.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from '../../../support/postgres.ts';
import { lateBy, until } from '../../../support/waits.ts';
import { openPostgres } from '../opened-stores.ts';
import { done, pending, start, unknown } from '../store-conformance.ts';

const { id, trackId } = pending();
const again = pending({ trackId: 'attempt-2' });
let postgres: TestPostgres;

const open = (change: Partial<PostgresStoreOptions> = {}) =>
  openPostgres(postgres, { startTimeoutMs: 500, ...change });

/** A store that gives calls up soon, opened however slow the server is. */
const openHasty = (timeoutMs: number, change: Partial<PostgresStoreOptions> = {}) =>
  open({ timeoutMs, startTimeoutMs: 60_000, ...change });

/** What a call fails with, and after how many milliseconds. */
async function failure(call: Promise<unknown>): Promise<{ message: string; took: number }> {
  const began = performance.now();
  const error: unknown = await call.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreUnavailable);
  return { message: String(error), took: performance.now() - began };
}

/** What keeps the store from being opened. */
const refusal = (change: Partial<PostgresStoreOptions> = {}) =>
  open(change).then(
    () => 'it was opened',
    (error: unknown) => String(error),
  );

/** Tries until the store answers. */
const answers = (store: PaymentStore) =>
  expect.poll(() => store.find('none', start).catch(() => 'not yet'), { interval: 50 });

/** The server's processes for bankql's connections. */
const backends = async () =>
  (await postgres.query("SELECT pid FROM pg_stat_activity WHERE usename = 'bankql'")).map(({ pid }) => pid);

const statesOf = async () =>
  (await postgres.query('SELECT state FROM bankql.payment ORDER BY id')).map(({ state }) => state);

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  beforeAll(async () => {
    postgres = await startPostgres(durable);
  });
  beforeEach(() => postgres.empty());
  afterAll(() => postgres.stop());

  describe('a server that is down', () => {
    test('makes the store unavailable in time, has kept what was stored, and is used again when it is back', async () => {
      const store = await open();
      await store.begin(pending(), start);
      await postgres.kill();
      const calls = [
        // What this process has under way itself, it knows without the server.
        store.begin({ ...again, id: 'another payment' }, start),
        store.find(id, start),
        store.search({ states: ['DONE'] }, start),
        store.end({ id, trackId, outcome: done, at: start }),
      ];
      for (const { took } of await Promise.all(calls.map(failure))) expect(took).toBeLessThan(inTimeMs);
      expect((await failure(store.find('another payment', start))).message).toContain('is not available: ');
      // The end that could not be written is told by its process, and written when the server is back.
      const ended = { state: 'DONE', trackId };
      expect(await store.find(id, start)).toMatchObject(ended);
      expect(await refusal()).toMatch(
        /cannot be reached: .*ECONNREFUSED.* STATE_URL has to name a PostgreSQL/,
      );
      await postgres.restart();
      await answers(store).toBeNull();
      expect(await store.begin(again, start)).toMatchObject(ended);
      await expect.poll(() => store.unwritten()).toEqual([]);
      expect(await (await open()).begin(again, start)).toMatchObject(ended);
    });

    test('while payments begin stores each of them or nothing', async () => {
      const store = await open();
      const ids = Array.from({ length: 100 }, (_, n) => `p-${n}`);
      const begins = ids.map((other) => store.begin(pending({ id: other }), start));
      const settled = Promise.allSettled(begins);
      await begins[0];
      await postgres.kill();
      const results = await settled;
      await postgres.restart();
      await answers(store).toBeNull();
      const kept = async () =>
        (await store.search({ states: ['PENDING'] }, start)).map((record) => record.id).sort();
      // Those that failed are taken back.
      await expect.poll(kept).toEqual(ids.filter((_, n) => results[n]?.status === 'fulfilled').sort());
    });
  });

  test('a server that answers nothing makes the store unavailable in time, and what was begun is taken back', async () => {
    const patient = await open();
    await patient.begin(pending({ id: 'before' }), start);
    const store = await openHasty(500);
    await postgres.pause();
    try {
      const { message, took } = await failure(store.begin(pending(), start));
      expect(message).toContain('no answer in 500 ms');
      expect(took).toBeLessThan(inTimeMs);
      // From here on nothing is asked that would wait as well.
      expect((await failure(store.begin(pending({ id: 'c' }), start))).took).toBeLessThan(inTimeMs);
    } finally {
      await postgres.resume();
    }
    await answers(store).toBeNull();
    await expect.poll(statesOf).toEqual(['PENDING']);
    expect(await patient.begin(again, start)).toBeNull();
  });

  test('idle connections that are cut are followed by others, and no call fails', async () => {
    const store = await open();
    for (let n = 0; n < 5; n++) {
      await postgres.cut();
      expect(await store.begin(pending({ id: `p-${n}` }), start)).toBeNull();
    }
  });

  test('a server that ends idle sessions does not end the process, nor fail calls', async () => {
    await postgres.query("ALTER ROLE bankql SET idle_session_timeout = '1s'");
    try {
      const store = await open();
      for (let n = 0; n < 2; n++) {
        const idle = await backends();
        await until(async () => !(await backends()).some((backend) => idle.includes(backend)));
        expect(await store.begin(pending({ id: `p-${n}` }), start)).toBeNull();
      }
    } finally {
      await postgres.query('ALTER ROLE bankql RESET idle_session_timeout');
    }
  });

  describe('a connection that dies under a commit', () => {
    /** A way to the server that loses its connections once so many bytes were answered. */
    async function behindGate() {
      const gate = await openLossyGate(postgres.port);
      const address = { ...postgres.address, hosts: [{ host: '127.0.0.1', port: gate.port }] };
      const store = await open({ address });
      return { gate, store };
    }

    test('is looked up: what is stored is told as stored, once', async () => {
      const { gate, store } = await behindGate();
      // The answer of the first attempt does not arrive, although the server stored it.
      gate.loseNextAnswer();
      expect(await store.begin(pending(), start)).toBeNull();
      expect(await postgres.query('SELECT sum(began)::int AS began FROM bankql.tally')).toEqual([
        { began: 1 },
      ]);
      gate.loseNextAnswer();
      expect(await store.end({ id, trackId, outcome: unknown, at: start })).toBe(true);
      gate.loseNextAnswer();
      expect(await store.settle(id, 'DONE', 'Ada', start)).toBe(true);
      expect((await store.find(id, start))?.history).toHaveLength(3);
      await store.begin(pending({ id: 'b' }), start);
      gate.loseNextAnswer();
      expect(await store.end({ id: 'b', trackId, outcome: null, at: start })).toBe(true);
      await gate.close();
    });

    test('and cannot be looked up fails, and is taken back', async () => {
      const { gate, store } = await behindGate();
      gate.loseNextAnswer();
      gate.refuse(true);
      await failure(store.begin(pending(), start));
      // It was stored.
      expect(await postgres.query('SELECT sum(began)::int AS began FROM bankql.tally')).toEqual([
        { began: 1 },
      ]);
      gate.refuse(false);
      await expect.poll(statesOf).toEqual([]);
      await gate.close();
    });
  });

  test('calls that wait for others fail in time', async () => {
    const patient = await open();
    await patient.begin(pending(), start);
    const store = await openHasty(500);
    const [host] = postgres.address.hosts;
    const blocker = new Client({ ...host, user: 'postgres', database: 'bankql', ssl: false });
    await blocker.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE bankql.payment IN ACCESS EXCLUSIVE MODE');
      const calls = Array.from({ length: 6 }, () => failure(store.find(id, start)));
      for (const { took, message } of await Promise.all(calls)) {
        expect(took).toBeLessThan(inTimeMs);
        expect(message).toMatch(/no answer in|timeout|no connection in/);
      }
    } finally {
      await blocker.end();
    }
    await answers(store).toBeNull();
    const many = Array.from({ length: 40 }, (_, n) => patient.begin(pending({ id: `p-${n}` }), start));
    expect(new Set(await Promise.all(many))).toEqual(new Set([null]));
  });

  test('a primary that becomes read-only is left, and used again when it takes writes', async () => {
    const store = await open();
    const readOnly = async (value: string) => {
      await postgres.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await postgres.query('SELECT pg_reload_conf()');
    };
    await readOnly('on');
    // Each a payment of its own: one that fails is taken back, and with it an earlier one of the same Track-ID.
    let tries = 0;
    const next = () => {
      tries++;
      return pending({ id: `try-${tries}`, trackId: `attempt-of-${tries}` });
    };
    await expect
      .poll(() => failure(store.begin(next(), start)))
      .toMatchObject({ message: expect.stringContaining('it is read-only') });
    expect(await refusal()).toMatch(/cannot be used: it is read-only/);
    await readOnly('off');
    await expect.poll(() => store.begin(next(), start).catch(() => 'not yet')).toBeNull();
  });

  describe('a server that would forget payments', () => {
    test.each([
      ['fsync', 'off', /fsync is off.*power cut.*set "fsync = on"/],
      ['full_page_writes', 'off', /full_page_writes is off/],
      ['synchronous_commit', 'off', /synchronous_commit is off.*set "synchronous_commit = on"/],
    ])('with %s = %s stops the start, unless that is accepted', async (name, value, reason) => {
      await postgres.query(`ALTER SYSTEM SET ${name} = ${value}`);
      await postgres.query('SELECT pg_reload_conf()');
      // Given on the command line fsync stays; the reload is for the others.
      if (name !== 'fsync')
        await until(async () => (await postgres.query(`SHOW ${name}`))[0]?.[name] === value);
      try {
        // Given on the command line fsync stays; the reload is for the others.
        if (name === 'fsync') await postgres.kill().then(() => postgres.restart({ fsync: 'off' }));
        const message = await refusal();
        expect(message).toMatch(reason);
        expect(message).toContain('cannot be used');
        expect(message).toContain('STATE_ALLOW_VOLATILE=1');
        expect(await (await open({ allowVolatile: true })).begin(pending(), start)).toBeNull();
      } finally {
        await postgres.query(`ALTER SYSTEM RESET ${name}`);
        await postgres.query('SELECT pg_reload_conf()');
        if (name === 'fsync') await postgres.kill().then(() => postgres.restart({ fsync: 'on' }));
      }
    });

    test('has to have standbys confirm as many as STATE_WAIT_REPLICAS says, and where a cluster is named', async () => {
      expect(await refusal({ waitReplicas: 1 })).toMatch(
        /synchronous_standby_names is empty, and STATE_WAIT_REPLICAS is 1: set it there, such as "FIRST 1 \(\*\)"/,
      );
      const [host] = postgres.address.hosts;
      const hosts = host === undefined ? [] : [host, host];
      expect(await refusal({ address: { ...postgres.address, hosts } })).toMatch(
        /several hosts.*synchronous_standby_names there and STATE_WAIT_REPLICAS=1/,
      );
    });

    test('a payment that no standby confirms is not begun, and is taken back', async () => {
      const patient = await open();
      const store = await openHasty(500);
      expect(await patient.begin(pending({ id: 'a' }), start)).toBeNull();
      await postgres.waitForStandby();
      try {
        expect((await failure(store.begin(pending(), start))).message).toContain('no answer in 500 ms');
        // An operator who is tired of waiting makes the server give up, not bankql.
        const refused = failure(patient.begin(pending({ id: 'c' }), start));
        const waitsLong = "wait_event = 'SyncRep' AND query_start < now() - interval '1 s'";
        await expect
          .poll(() =>
            postgres.query(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${waitsLong}`),
          )
          .not.toEqual([]);
        expect((await refused).message).toContain('the server warned: ');
      } finally {
        await postgres.confirmNothing();
      }
      await expect
        .poll(async () => (await postgres.query('SELECT id FROM bankql.payment')).map((row) => row.id))
        .toEqual(['a']);
    });
  });

  test('a backend that waits for ever is ended by the next connection, so that they do not pile up', async () => {
    const store = await openHasty(100);
    await postgres.waitForStandby();
    const waitingBackends = async () =>
      (await postgres.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).length;
    try {
      for (let n = 0; n < 20; n++) {
        await store.begin(pending({ id: `p-${n}` }), start).catch(() => {});
        await lateBy(150);
      }
      expect(await waitingBackends()).toBeLessThanOrEqual(16);
    } finally {
      await postgres.confirmNothing();
    }
    await answers(store).toBeNull();
  });
});
