import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type NewRow, WriteUncertain } from '../../../../src/payments/store/driver.ts';
import { compareServers, initPostgres } from '../../../../src/payments/store/postgres/postgres-server.ts';
import { StoreUnavailable } from '../../../../src/payments/store/store.ts';
import {
  durable,
  hasPostgres,
  startPostgres,
  startStandby,
  type TestPostgres,
} from '../../../support/postgres.ts';
import { openTcpGate } from '../../../support/tcp-gate.ts';
import { until } from '../../../support/waits.ts';
import { newRow, openDriver } from './opened-driver.ts';

const stored = { system_identifier: '7', timeline: 3, standbys_confirm: true };

test.each([
  ['the same server', {}, {}, null, null],
  ['a promoted standby that confirms payments', {}, { timeline: 5 }, null, /from timeline 3 to timeline 5/],
  [
    'a promoted standby that need not confirm them',
    { standbys_confirm: false },
    { timeline: 4 },
    /synchronous_standby_names was empty/,
    null,
  ],
  ['an older timeline', {}, { timeline: 2 }, /old primary or an old copy/, null],
  ['another server', {}, { system_identifier: '8' }, /from system 7 to system 8/, null],
  ['another server with a higher timeline', {}, { system_identifier: '8', timeline: 4 }, /system 8/, null],
  ['a server with no identity', {}, { system_identifier: null, timeline: null }, null, null],
  ['a server that had no identity before', { system_identifier: null, timeline: null }, {}, null, null],
  ['standbys that need not confirm any more', {}, { standbys_confirm: false }, null, null],
])('the store that bankql knows is compared with %s', (_, before, server, loss, change) => {
  const result = compareServers({ ...stored, ...before }, { ...stored, ...server }, true);
  expect(result.loss).toEqual(loss === null ? null : expect.stringMatching(loss));
  expect(result.change).toEqual(change === null ? null : expect.stringMatching(change));
});

test('a promotion that no bankql watched may be a restored backup', () => {
  const { loss, change } = compareServers(stored, { ...stored, timeline: 4 }, false);
  expect(change).toBeNull();
  expect(loss).toMatch(
    /from timeline 3 to timeline 4 while no bankql ran .* your synchronous standby, nothing is lost: `bankql payments accept-loss`\. .* from a backup: `bankql payments accept-loss --from-log FILE` first$/,
  );
});

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  let postgres: TestPostgres;
  const init = () => initPostgres(postgres.address);
  const storeRow = async () => (await postgres.query('SELECT * FROM bankql.store'))[0];

  beforeAll(async () => {
    postgres = await startPostgres(durable);
  });
  beforeEach(() => postgres.empty());
  afterAll(() => postgres.stop());

  test('without tables the start stops with one line, and makes none', async () => {
    const error = await openDriver(postgres).catch((reason: Error) => reason.message);
    expect(error).toMatch(
      /^There is no payment store at postgres:\/\/127\.0\.0\.1:\d+\/bankql: .*bankql payments init.*backup/,
    );
    expect(error).not.toContain('\n');
    expect(await postgres.query("SELECT to_regnamespace('bankql') AS found")).toEqual([{ found: null }]);
  });

  test('init makes one store, even if several processes start at once, and keeps an existing one', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, init));
    expect(made.toSorted()).toEqual([false, false, false, false, true]);
    const before = await storeRow();
    expect(before).toMatchObject({
      version: 5,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      timeline: 1,
    });
    const drivers = await Promise.all([openDriver(postgres), openDriver(postgres)]);
    expect(drivers.map(({ secret, loss }) => ({ secret, loss }))).toEqual(
      Array(2).fill({ secret: before?.secret, loss: null }),
    );
    expect(await init()).toBe(false);
    expect(await storeRow()).toEqual(before);
  });

  test('for a role that may not create a schema or use the tables, the error gives the required statement', async () => {
    await postgres.query('DROP ROLE IF EXISTS app');
    await postgres.query('CREATE ROLE app LOGIN');
    const address = { ...postgres.address, user: 'app' };
    await expect(initPostgres(address)).rejects.toThrow(
      /permission denied .*CREATE SCHEMA bankql AUTHORIZATION "app"/,
    );
    await init();
    await expect(openDriver({ address })).rejects.toThrow(
      /its role "app" may not use the tables: .* GRANT USAGE ON SCHEMA bankql TO "app"; GRANT SELECT, INSERT/,
    );
    await postgres.empty();
    await postgres.query('CREATE SCHEMA bankql AUTHORIZATION app');
    expect(await initPostgres(address)).toBe(true);
    const driver = await openDriver({ address });
    expect(await driver.insert(newRow('a'))).toMatchObject({ id: 'a' });
  });

  describe('a role that becomes its group role (ALTER ROLE … SET ROLE)', () => {
    beforeEach(async () => {
      await postgres.query('DROP ROLE IF EXISTS app; DROP ROLE IF EXISTS payers');
      await postgres.query(
        'CREATE ROLE payers; CREATE ROLE app LOGIN NOINHERIT IN ROLE payers; ALTER ROLE app SET ROLE payers',
      );
    });

    test('makes and uses the tables, and ends the backend of a connection that broke', async () => {
      await using gate = await openTcpGate(postgres.port);
      const address = { ...postgres.address, user: 'app', port: gate.port };
      await postgres.query('CREATE SCHEMA bankql AUTHORIZATION payers');
      expect(await initPostgres(address)).toBe(true);
      const driver = await openDriver({ address });
      gate.loseNextAnswer();
      await expect(driver.insert(newRow('a'))).rejects.toThrow(WriteUncertain);
      expect(await driver.find('a')).toMatchObject({ version: 'v-1' });
      expect(
        await postgres.query('SELECT tableowner FROM pg_tables WHERE schemaname = $1', ['bankql']),
      ).toEqual(Array(2).fill({ tableowner: 'payers' }));
    });

    test('the error names the role that lacks a privilege', async () => {
      await init();
      const address = { ...postgres.address, user: 'app' };
      await expect(openDriver({ address })).rejects.toThrow(
        /cannot be used: its role "payers" may not use the tables: .*GRANT USAGE ON SCHEMA bankql TO "payers"/,
      );
      await postgres.query(
        'GRANT USAGE ON SCHEMA bankql TO payers; GRANT SELECT ON ALL TABLES IN SCHEMA bankql TO payers',
      );
      await expect(openDriver({ address })).rejects.toThrow('its role "payers" may not use the tables');
      // Opens the store as `bankql check` does.
      const check = openDriver({ address }, { readOnly: true, mustBeWritable: true });
      await expect(check).rejects.toThrow('its role "payers" may not use the tables');
      // A command that only reads needs no further privileges.
      expect(await (await openDriver({ address }, { readOnly: true })).find('a')).toBeNull();
      await postgres.query('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bankql TO payers');
      expect(await (await openDriver({ address })).insert(newRow('a'))).toMatchObject({ id: 'a' });
    });
  });

  test('a commit that waits for no standby counts as confirmed by none', async () => {
    await init();
    await postgres.query('ALTER ROLE bankql SET synchronous_commit = local');
    try {
      const driver = await openDriver(postgres);
      await driver.insert(newRow('a'));
      await postgres.waitForStandby();
      // With this setting, a commit does not wait for the standby; otherwise it would wait for ever.
      expect(await driver.insert(newRow('b'))).toMatchObject({ version: 'v-1' });
      const accepting = await openDriver(postgres, { allowVolatile: true });
      expect(await accepting.insert(newRow('c'))).toMatchObject({ version: 'v-1' });
      expect(await storeRow()).toMatchObject({ standbys_confirm: false });
      await expect(openDriver(postgres)).rejects.toThrow(/synchronous_commit is local/);
    } finally {
      await postgres.confirmNothing();
      await postgres.query('ALTER ROLE bankql RESET synchronous_commit');
    }
  });

  test.each([
    [3, /cannot be used: bankql 0\.4 or older made it \(format 3\): settle .* accept-loss --from-log FILE/],
    [6, /cannot be used: a newer bankql made it \(format 6\)/],
  ])('tables of format %i are refused with what to do, and stay as they are', async (format, reason) => {
    await init();
    await postgres.query('UPDATE bankql.store SET version = $1', [format]);
    await expect(openDriver(postgres)).rejects.toThrow(reason);
    await expect(init()).rejects.toThrow(reason);
    expect(await storeRow()).toMatchObject({ version: format });
  });

  test('tables of bankql 0.3 are refused', async () => {
    await postgres.query(
      'CREATE SCHEMA bankql; CREATE TABLE bankql.store (version integer, metadata text); INSERT INTO bankql.store VALUES (2)',
    );
    await postgres.query(
      'GRANT ALL ON SCHEMA bankql TO bankql; GRANT ALL ON ALL TABLES IN SCHEMA bankql TO bankql',
    );
    await expect(openDriver(postgres)).rejects.toThrow(
      /^The payment store .* cannot be used: bankql 0\.4 or older made it \(format 2\)/,
    );
  });

  test('a server without the store’s row refuses payments until an operator accepts that', async () => {
    await init();
    await (await openDriver(postgres)).insert(newRow('a'));
    await postgres.query('DELETE FROM bankql.store');
    const driver = await openDriver(postgres);
    expect(driver.loss).toContain('its row in bankql.store is missing');
    await expect(driver.insert(newRow('b'))).rejects.toThrow(
      /may lack records: its row in bankql\.store is missing\.$/,
    );
    expect(await driver.find('a')).toMatchObject({ id: 'a' });
    await driver.acceptLoss('Ada: partly restored');
    expect(driver.loss).toBeNull();
    expect(await driver.insert(newRow('b'))).toMatchObject({ id: 'b' });
    expect(await storeRow()).toMatchObject({
      loss_accepted_by: 'Ada: partly restored',
      loss_accepted_at: expect.any(Date),
    });
    expect((await openDriver(postgres)).secret).toBe(driver.secret);
  });

  test('a store that is made anew while bankql runs accepts none of its payments', async () => {
    await init();
    const driver = await openDriver(postgres);
    await driver.insert(newRow('a'));
    await postgres.empty();
    await init();
    await expect(driver.insert(newRow('a'))).rejects.toThrow(StoreUnavailable);
    await expect
      .poll(() => driver.insert(newRow('a')).catch(String))
      .toContain('another store was made in its place');
    expect(driver.loss).toContain('restart bankql');
    expect(await postgres.query('SELECT FROM bankql.payment')).toEqual([]);
  });

  test('records restored to another server are refused until an operator accepts that, also for a bankql that runs', async () => {
    await init();
    const driver = await openDriver(postgres);
    await postgres.query("UPDATE bankql.store SET system_identifier = '1'");
    await postgres.cut();
    await expect.poll(() => driver.insert(newRow('a')).catch(String)).toMatch(/from system 1 to system \d+/);
    const operator = await openDriver(postgres);
    expect(operator.loss).toBe(driver.loss);
    await expect(operator.insert(newRow('a'))).rejects.toThrow(StoreUnavailable);
    await operator.acceptLoss('Ada: a new server');
    expect(await operator.insert(newRow('a'))).toMatchObject({ id: 'a' });
    // The driver checks again with its next call.
    await driver.count();
    expect(driver.loss).toBeNull();
    expect(await driver.insert(newRow('b'))).toMatchObject({ id: 'b' });
  });

  test('a server that does not show its identity works, and is logged once', async () => {
    await init();
    await postgres.query('REVOKE EXECUTE ON FUNCTION pg_control_system FROM public');
    try {
      const notices: string[] = [];
      const driver = await openDriver(postgres, { onNotice: (text) => notices.push(text) });
      await Promise.all(Array.from({ length: 4 }, (_, n) => driver.find(String(n))));
      await driver.insert(newRow('a'));
      expect(driver.loss).toBeNull();
      expect(notices).toEqual([expect.stringContaining('does not show its system identifier')]);
      // A store can be made on this server as well.
      await driver.close();
      await postgres.empty();
      expect(await init()).toBe(true);
      expect(await storeRow()).toMatchObject({ system_identifier: null, timeline: null });
    } finally {
      await postgres.query('GRANT EXECUTE ON FUNCTION pg_control_system TO public');
    }
    // Once the server reports its identity, the identity is kept.
    await openDriver(postgres);
    expect(await storeRow()).toMatchObject({
      system_identifier: expect.stringMatching(/^\d+$/),
      timeline: 1,
    });
  });

  test('a store that is only read changes nothing', async () => {
    await init();
    await postgres.query('UPDATE bankql.store SET timeline = NULL');
    const driver = await openDriver(postgres, { readOnly: true });
    expect(await driver.search({ limit: 1 })).toEqual([]);
    expect(await storeRow()).toMatchObject({ timeline: null });
  });

  describe('a standby that is promoted', () => {
    const isFollowed = (server: TestPostgres) =>
      until(async () =>
        (await server.query('SELECT sync_state FROM pg_stat_replication')).some(
          (row) => row.sync_state === 'sync',
        ),
      );

    test('is accepted if it had to confirm payments, by a bankql that runs; the old primary is refused', async () => {
      await using primary = await startPostgres(durable);
      await initPostgres(primary.address);
      await using standby = await startStandby(primary, durable);
      await primary.restart({ synchronous_standby_names: '*' });
      await isFollowed(primary);
      await using forwarder = await openTcpGate(primary.port);
      const address = { ...primary.address, port: forwarder.port };
      const notices: string[] = [];
      const driver = await openDriver({ address }, { onNotice: (text) => notices.push(text) });
      await driver.insert(newRow('a'));
      await expect(openDriver(standby)).rejects.toThrow('it is a standby');
      await primary.kill();
      await standby.query('SELECT pg_promote()');
      forwarder.leadTo(standby.port);
      // At most, the call over the broken connection fails.
      const insert = (row: NewRow) => driver.insert(row).catch(({ message }: Error) => ({ message }));
      await expect.poll(() => insert(newRow('a', { version: 'v-2' }))).toMatchObject({ version: 'v-1' });
      expect(driver.loss).toBeNull();
      expect(notices).toEqual([
        expect.stringMatching(/goes on: its server changed from timeline 1 to timeline 2/),
      ]);
      // The loss is recorded now, so a bankql that starts later knows it too.
      const later: string[] = [];
      expect((await openDriver(standby, { onNotice: (text) => later.push(text) })).loss).toBeNull();
      expect(later).toEqual([]);
      // Since then, no standby had to confirm the payments of this server, so the next failover may lose some.
      expect((await standby.query('SELECT timeline, standbys_confirm FROM bankql.store'))[0]).toEqual({
        timeline: 2,
        standbys_confirm: false,
      });
      await primary.restart();
      forwarder.leadTo(primary.port);
      const refusal = /from timeline 2 to timeline 1, that of an old primary/;
      await expect.poll(() => insert(newRow('b'))).toMatchObject({ message: expect.stringMatching(refusal) });
      expect(await primary.query("SELECT 1 FROM bankql.payment WHERE id = 'b'")).toEqual([]);
      forwarder.leadTo(standby.port);
      await expect.poll(() => insert(newRow('b'))).toMatchObject({ version: 'v-1' });
      expect(driver.loss).toBeNull();
    });

    test('is refused if it did not have to confirm payments, until an operator accepts that', async () => {
      await using primary = await startPostgres(durable);
      await initPostgres(primary.address);
      await using standby = await startStandby(primary, durable);
      await primary.kill();
      await standby.query('SELECT pg_promote()');
      const driver = await openDriver(standby);
      expect(driver.loss).toMatch(/from timeline 1 to timeline 2, .*synchronous_standby_names was empty/);
      await expect(driver.insert(newRow('a'))).rejects.toThrow(StoreUnavailable);
      await driver.acceptLoss('Ada');
      expect(await driver.insert(newRow('a'))).toMatchObject({ id: 'a' });
      expect((await openDriver(standby)).loss).toBeNull();
    });
  });
});
