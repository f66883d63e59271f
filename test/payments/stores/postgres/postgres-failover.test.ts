import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { PaymentStore } from '../../../../src/payments/store.ts';
import { type OpenStoreOptions, openStore } from '../../../../src/payments/stores/open-store.ts';
import {
  durable,
  hasPostgres,
  startPostgres,
  startStandby,
  type TestPostgres,
} from '../../../support/postgres.ts';
import { lateBy, until } from '../../../support/waits.ts';
import { done, lease, pending, retentionMs } from '../store-conformance.ts';

describe.skipIf(!hasPostgres)('with PostgreSQL (skipped where none is installed)', () => {
  const confirming = { ...durable, synchronous_standby_names: '*' };
  let primary: TestPostgres;
  let standby: TestPostgres;
  let url: string;

  async function open(change: OpenStoreOptions = { retentionMs }): Promise<PaymentStore> {
    const store = await openStore(url, { startTimeoutMs: 60_000, waitReplicas: 1, ...change });
    onTestFinished(() => store.close());
    return store;
  }
  async function isFollowed(server: TestPostgres): Promise<void> {
    await until(async () => {
      const standbys = await server.query('SELECT sync_state FROM pg_stat_replication');
      return standbys.some((row) => row.sync_state === 'sync');
    });
  }

  beforeAll(async () => {
    primary = await startPostgres(durable);
    standby = await startStandby(primary, confirming);
    await primary.kill();
    await primary.restart(confirming);
    await isFollowed(primary);
    url = `postgres://bankql@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/bankql`;
  });
  afterAll(() => Promise.all([primary.stop(), standby.stop()]));

  test('no payment is sent twice when the primary dies under payments, nor when it comes back', async () => {
    await expect(open({ retentionMs, waitReplicas: 0 })).rejects.toThrow(/several hosts/);
    await expect(open({ retentionMs, waitReplicas: 2 })).rejects.toThrow(
      /has 1 confirm a payment, and STATE_WAIT_REPLICAS is 2/,
    );
    const sent = new Map<string, number>();
    const stores = [await open(), await open()] as const;
    let attempts = 0;
    let refused = 0;

    /** Pays as bankql does: begins, sends where nothing was there, and writes the end. */
    async function pay(store: PaymentStore, id: string): Promise<boolean> {
      const trackId = `attempt-${attempts++}`;
      const now = Date.now();
      const times = { createdAt: now, updatedAt: now, leaseUntil: now + lease };
      const found = await store
        .begin(pending({ id, trackId, ...times }), now)
        .catch(() => 'refused' as const);
      if (found === 'refused') {
        refused++;
        await lateBy(20);
        return false;
      }
      if (found !== null) return true;
      sent.set(id, (sent.get(id) ?? 0) + 1);
      await store.end({ id, trackId, outcome: done, at: Date.now() }).catch(() => false);
      return true;
    }

    let stop = false;
    const ids: string[] = [];
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (let n = 0; !stop; n++) {
        const id = `p-${client}-${n}`;
        ids.push(id);
        // A client that was refused asks again, of either process.
        for (
          let attempt = 0;
          !(await pay(stores[(client + attempt) % 2 === 0 ? 0 : 1], id)) && !stop;
          attempt++
        );
      }
    });
    await expect.poll(() => sent.size).toBeGreaterThan(50);
    await primary.kill();
    await expect.poll(() => refused).toBeGreaterThan(0);
    await standby.query('SELECT pg_promote()');
    // It confirms nothing before a standby of its own is there.
    const old = primary;
    await old.follow(standby);
    await isFollowed(standby);
    const before = sent.size;
    await expect.poll(() => sent.size).toBeGreaterThan(before + 50);
    stop = true;
    await Promise.all(clients);
    // Every key once more, of both: nothing that was sent is begun again.
    const again = new Map(sent);
    // One of them may still be looking for the primary.
    for (const id of again.keys())
      for (const store of stores) await expect.poll(() => pay(store, id)).toBe(true);
    expect(Math.max(...sent.values())).toBe(1);
    expect(sent).toEqual(again);
    expect(stores.map(({ loss }) => loss)).toEqual([null, null]);
    [primary, standby] = [standby, old];
  });

  test('an old primary that comes back beside the new one is not taken for it', async () => {
    const store = await open({ retentionMs, timeoutMs: 60_000 });
    const now = Date.now();
    const times = { createdAt: now, updatedAt: now, leaseUntil: now + lease };
    await store.begin(pending({ id: 'before', ...times }), now);
    // Both take writes now, and the old one knows nothing of what the new one stores; neither waits for anybody.
    await standby.query('SELECT pg_promote()');
    await primary.kill();
    await standby.kill();
    await Promise.all([primary, standby].map((server) => server.restart({ synchronous_standby_names: '' })));
    const volatile = { retentionMs, timeoutMs: 60_000, allowVolatile: true };
    const newer = await openStore(`postgres://bankql@127.0.0.1:${standby.port}/bankql`, volatile);
    await newer.begin(pending({ id: 'newer', ...times }), now);
    for (const hosts of [
      [primary, standby],
      [standby, primary],
    ]) {
      const both = `postgres://bankql@${hosts.map(({ port }) => `127.0.0.1:${port}`).join()}/bankql`;
      const found = await openStore(both, volatile);
      expect(await found.find('newer', now)).toMatchObject({ state: 'PENDING' });
      await found.close();
    }
    await newer.close();
  });
});
