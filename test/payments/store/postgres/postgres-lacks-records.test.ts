import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/payments/store/open-store.ts';
import { initPostgres } from '../../../../src/payments/store/postgres/postgres-server.ts';
import { StoreUnavailable } from '../../../../src/payments/store/store.ts';
import { ada, operate } from '../../../support/operate.ts';
import { startPaymentBank } from '../../../support/payment-bank.ts';
import { pay, transfer } from '../../../support/payment-client.ts';
import {
  durable,
  hasPostgres,
  type Restoration,
  startPostgres,
  startStandby,
  type TestPostgres,
} from '../../../support/postgres.ts';
import { startProcess } from '../../../support/process.ts';
import { openTcpGate } from '../../../support/tcp-gate.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { until } from '../../../support/waits.ts';
import { pending, retentionMs } from '../store-conformance.ts';
import { changed, newRow, openDriver } from './opened-driver.ts';

/** A server that lacks a record which bankql has seen there accepts no payment. */

const folder = testFolder();
const restorations: readonly Restoration[] = ['an older snapshot', 'a restored backup'];

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  const acceptLoss = (url: string, ...more: string[]) =>
    operate(['accept-loss', ...more, ...ada, '--yes'], { url });

  describe.each(restorations)('%s behind the same address', (how) => {
    test('sends no payment twice, whichever process is asked, also after a restart', async () => {
      await using postgres = await startPostgres(durable);
      await initPostgres(postgres.address);
      await using bank = await startPaymentBank();
      const start = () =>
        startProcess({ BANK_BASE_URL: bank.url, STATE_URL: postgres.url, METRICS_PORT: '0' });
      await using one = await start();
      await using other = await start();
      const restore = await postgres.copy();
      const { trackId } = await pay(one.url, transfer('key'));
      await restore(how);

      const refused = { code: 'STATE_UNAVAILABLE' };
      expect(await pay(one.url, transfer('key'))).toMatchObject(refused);
      expect(await pay(one.url, transfer('unused'))).toMatchObject(refused);
      expect(await pay(other.url, transfer('key'))).toMatchObject(refused);
      {
        await using restarted = await start();
        expect(restarted.output()).toContain('PAYMENTS ARE REFUSED');
        expect(await pay(restarted.url, transfer('key'))).toMatchObject(refused);
      }
      expect(bank.payments.map((payment) => payment.trackId)).toEqual([trackId]);

      // Once an operator has accepted the loss, every process continues without a restart.
      const { code, output } = await acceptLoss(postgres.url);
      expect([code, output]).toEqual([
        0,
        expect.stringMatching(/the payment [0-9a-f]{12} of .* is missing|timeline 1 to timeline 2/),
      ]);
      const accepted = async (url: string, key: string) =>
        until(async () => (await pay(url, transfer(key))).code === 'DONE');
      await accepted(other.url, 'other');
      await accepted(one.url, 'one');
      expect(bank.payments.map(({ account }) => account)).toEqual(['key', 'other', 'one']);
    });

    test('is noticed by a process that has only read the record, and by a look without any payment', async () => {
      await using postgres = await startPostgres(durable);
      await initPostgres(postgres.address);
      const writer = await openDriver(postgres);
      const reader = await openDriver(postgres, { lookEveryMs: 50 });
      const restore = await postgres.copy();
      await writer.insert(newRow('a'));
      await writer.compareAndSet('a', 'v-1', changed('v-2'));
      await writer.close();
      expect(await reader.find('a')).toMatchObject({ state: 'DONE' });
      await restore(how);
      await until(() => reader.loss !== null);
      await expect(reader.insert(newRow('a'))).rejects.toThrow(StoreUnavailable);
      // Every other process learns of the loss from this row.
      const [row] = await postgres.query('SELECT loss, timeline FROM bankql.store');
      expect(row).toEqual({ loss: expect.any(String), timeline: 1 });
      expect((await openDriver(postgres)).loss).toContain(String(row?.loss));
      expect(await postgres.query('SELECT FROM bankql.payment')).toEqual([]);
    });
  });

  test('a restored backup that no bankql watched is refused with both cases, and the payments of a log are not sent again', async () => {
    await using postgres = await startPostgres(durable);
    await initPostgres(postgres.address);
    await using standby = await startStandby(postgres, durable);
    await postgres.restart({ synchronous_standby_names: '*' });
    await using bank = await startPaymentBank();
    const start = () => startProcess({ BANK_BASE_URL: bank.url, STATE_URL: postgres.url });
    await using first = await start();
    // The copy keeps the disk busy: an INSERT may be refused, or time out and be taken back later. So the payment is repeated until
    // it is done, as clients do.
    const paid = async (key: string) => {
      await until(async () => (await pay(first.url, transfer(key))).code === 'DONE');
      return pay(first.url, transfer(key));
    };
    const told = await paid('kept');
    const restore = await postgres.copy();
    await paid('lost');
    await first.stop();
    await standby.kill();
    await postgres.restart({ synchronous_standby_names: '' });
    await restore('a restored backup');

    await using next = await start();
    const both =
      /from timeline 1 to timeline 2 while no bankql ran.*your synchronous standby, nothing is lost: `bankql payments accept-loss`\. If it was restored from a backup: `bankql payments accept-loss --from-log FILE` first/;
    expect(next.output()).toMatch(both);
    expect(await pay(next.url, transfer('lost'))).toMatchObject({ code: 'STATE_UNAVAILABLE' });
    const log = join(folder, 'bankql.log');
    writeFileSync(log, first.output());
    const { output } = await acceptLoss(postgres.url, '--from-log', log);
    expect(output).toMatch(both);
    expect(output).toContain('Recorded 1 payment as UNKNOWN');
    await until(async () => (await pay(next.url, transfer('lost'))).code === 'OUTCOME_UNKNOWN');
    expect(await pay(next.url, transfer('kept'))).toEqual({ ...told, replayed: true });
    expect(bank.payments.map(({ account }) => account)).toEqual(['kept', 'lost']);
  });

  describe('on one server', () => {
    let postgres: TestPostgres;
    beforeAll(async () => {
      postgres = await startPostgres(durable);
      await initPostgres(postgres.address);
    });
    beforeEach(() => postgres.forgetPayments());
    afterAll(() => postgres.stop());
    const ids = async () =>
      (await postgres.query('SELECT id FROM bankql.payment ORDER BY id')).map(({ id }) => id);

    test('TRUNCATE under a running bankql refuses the next payment, and one that is asked for again', async () => {
      const driver = await openDriver(postgres);
      await driver.insert(newRow('a'));
      await postgres.query('TRUNCATE bankql.payment');
      for (const id of ['a', 'b'])
        await expect(driver.insert(newRow(id))).rejects.toThrow(
          /may lack records: the payment a of \S+Z, which bankql has written or read there, is missing/,
        );
      expect(driver.loss).toContain('is missing');
      expect(await ids()).toEqual([]);
    });

    test('a read that misses the record makes the process look', async () => {
      const driver = await openDriver(postgres);
      await driver.insert(newRow('a'));
      await driver.insert(newRow('b'));
      await postgres.query("DELETE FROM bankql.payment WHERE id = 'b'");
      expect(await driver.find('a')).toMatchObject({ id: 'a' });
      await until(() => driver.loss !== null);
    });

    test('records that this process deletes are not missed, and those before them still are', async () => {
      const driver = await openDriver(postgres);
      await driver.insert(newRow('a'));
      await driver.compareAndSet('a', 'v-1', changed('v-2'));
      await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          await driver.insert(newRow(`p-${n}`));
          expect(await driver.compareAndSet(`p-${n}`, 'v-1', null)).toBe(true);
        }),
      );
      expect(await driver.insert(newRow('b'))).toMatchObject({ id: 'b' });
      expect(await driver.compareAndSet('b', 'v-1', null)).toBe(true);
      expect(driver.loss).toBeNull();
      await postgres.query("DELETE FROM bankql.payment WHERE id = 'a'");
      await expect(driver.insert(newRow('c'))).rejects.toThrow('the payment a of');
    });

    test("another process's payment is not missed when that takes it back", async () => {
      const [driver, other] = [await openDriver(postgres), await openDriver(postgres)];
      await other.insert(newRow('a'));
      expect(await driver.find('a')).toMatchObject({ state: 'PENDING' });
      await other.compareAndSet('a', 'v-1', null);
      expect(await driver.insert(newRow('b'))).toMatchObject({ id: 'b' });
    });

    test('a record whose retention is over may be gone', async () => {
      const driver = await openDriver(postgres);
      await driver.insert(newRow('a', { state: 'DONE' }));
      const age = retentionMs - 9 * 60_000;
      await postgres.query(
        `UPDATE bankql.payment SET created_at = created_at - ${age}, updated_at = updated_at - ${age}`,
      );
      await driver.find('a');
      await postgres.query('DELETE FROM bankql.payment');
      expect(await driver.insert(newRow('b'))).toMatchObject({ id: 'b' });
      expect(driver.loss).toBeNull();
    });

    test('a loss that one process found stops the others in the next statement; a decision lets all go on', async () => {
      const [driver, other] = [await openDriver(postgres), await openDriver(postgres)];
      await other.insert(newRow('z'));
      await driver.insert(newRow('a'));
      await postgres.query("DELETE FROM bankql.payment WHERE id = 'a'");
      await expect(driver.insert(newRow('b'))).rejects.toThrow(StoreUnavailable);
      await expect(other.insert(newRow('a'))).rejects.toThrow('the payment a of');
      expect(await ids()).toEqual(['z']);
      const operator = await openDriver(postgres);
      expect(operator.loss).toContain('the payment a of');
      await operator.acceptLoss('Ada: deleted by hand');
      for (const each of [driver, other]) {
        await each.count();
        expect(each.loss).toBeNull();
        expect(await each.insert(newRow(each === driver ? 'c' : 'd'))).toMatchObject({ version: 'v-1' });
      }
      // The next acceptance of a loss has a later time, whatever the clock shows.
      await postgres.query("UPDATE bankql.store SET loss_accepted_at = loss_accepted_at + interval '1 day'");
      const before = await postgres.query('SELECT loss_accepted_at FROM bankql.store');
      await operator.acceptLoss('Ada: again');
      const after = await postgres.query('SELECT loss_accepted_at FROM bankql.store');
      expect(Number(after[0]?.loss_accepted_at)).toBeGreaterThan(Number(before[0]?.loss_accepted_at));
    });

    test('a process that only reads writes no loss', async () => {
      const driver = await openDriver(postgres, { readOnly: true });
      const writer = await openDriver(postgres);
      await writer.insert(newRow('a', { state: 'DONE' }));
      await driver.find('a');
      await postgres.query('DELETE FROM bankql.payment');
      await postgres.cut();
      await until(() =>
        driver.count().then(
          () => driver.loss !== null,
          () => false,
        ),
      );
      expect(await postgres.query('SELECT loss FROM bankql.store')).toEqual([{ loss: null }]);
    });

    test('the dump of a store that is restored into the same server is noticed', async () => {
      const store = await openStore(postgres.url, { retentionMs });
      await store.begin(pending({ id: 'a' }), 120_000);
      await postgres.query('CREATE TABLE public.dump AS SELECT * FROM bankql.payment');
      await store.begin(pending({ id: 'b' }), 120_000);
      await postgres.query(
        'BEGIN; DELETE FROM bankql.payment; INSERT INTO bankql.payment SELECT * FROM public.dump; COMMIT; DROP TABLE public.dump',
      );
      await expect(store.begin(pending({ id: 'b' }), 120_000)).rejects.toThrow('the payment b of');
      await store.close();
    });
  });

  describe('a failover to a synchronous standby', () => {
    /** A primary and a standby that confirms its payments, behind one address. */
    async function startPair() {
      await using made = new AsyncDisposableStack();
      const primary = made.use(await startPostgres(durable));
      await initPostgres(primary.address);
      const standby = made.use(await startStandby(primary, durable));
      await primary.restart({ synchronous_standby_names: '*' });
      await until(async () =>
        (await primary.query('SELECT sync_state FROM pg_stat_replication')).some(
          (row) => row.sync_state === 'sync',
        ),
      );
      const gate = made.use(await openTcpGate(primary.port));
      const address = { ...primary.address, port: gate.port };
      const resources = made.move();
      return {
        address,
        standby,
        async failOver() {
          await primary.kill();
          await standby.query('SELECT pg_promote()');
          gate.leadTo(standby.port);
        },
        [Symbol.asyncDispose]: () => resources.disposeAsync(),
      };
    }
    const timelineOf = async ({ standby }: { standby: TestPostgres }) =>
      (await standby.query('SELECT timeline FROM bankql.store'))[0]?.timeline;

    test('is written by a process that runs, without any payment, so that one that starts later goes on', async () => {
      await using pair = await startPair();
      const driver = await openDriver(pair, { lookEveryMs: 50 });
      await driver.insert(newRow('a'));
      await pair.failOver();
      await until(async () => (await timelineOf(pair)) === 2);
      const later = await openDriver(pair);
      expect([driver.loss, later.loss]).toEqual([null, null]);
      expect(await later.insert(newRow('a', { version: 'v-2' }))).toMatchObject({ version: 'v-1' });
    });

    test('is not written by a process that has seen no record', async () => {
      await using pair = await startPair();
      const driver = await openDriver(pair, { lookEveryMs: 50 });
      await driver.count();
      await pair.failOver();
      await until(() => driver.loss !== null);
      expect(driver.loss).toMatch(/while no bankql ran/);
      // Records that the process reads only now do not prove that earlier ones are still there.
      await pair.standby.query(
        `INSERT INTO bankql.payment SELECT 'a', 'v', 'c', 'p', 'DONE', 't', null, 'a', null, '{}', 1, 1, 1`,
      );
      expect(await driver.find('a')).toMatchObject({ state: 'DONE' });
      await expect(driver.insert(newRow('b'))).rejects.toThrow(/while no bankql ran/);
      expect(await timelineOf(pair)).toBe(1);
    });
  });
});
