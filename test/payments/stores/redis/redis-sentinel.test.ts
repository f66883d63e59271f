import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentStore } from '../../../../src/payments/store.ts';
import { openStore } from '../../../../src/payments/stores/open-store.ts';
import { parseSentinelUrl, shownAddress } from '../../../../src/payments/stores/redis/address.ts';
import { createRedisStore } from '../../../../src/payments/stores/redis/redis-store.ts';
import {
  durable,
  freePort,
  hasRedis,
  startRedis,
  startSentinel,
  type TestRedis,
} from '../../../support/redis.ts';
import { done, lease, pending, retentionMs } from '../store-conformance.ts';

/** Who asks, as a URL says it. */
const [me, nobody, broken] = ['me:p%40ss', ':p%40ss', 'me:p%'];

test.each([
  [
    'redis+sentinel://a/pay',
    { sentinels: [{ host: 'a', port: 26379 }], primaryName: 'pay', database: 0, tls: false },
  ],
  [
    `rediss+sentinel://${me}@a:1,[::1]:2,c/pay-1/3`,
    {
      sentinels: [
        { host: 'a', port: 1 },
        { host: '::1', port: 2 },
        { host: 'c', port: 26379 },
      ],
      primaryName: 'pay-1',
      database: 3,
      tls: true,
      username: 'me',
      password: 'p@ss',
    },
  ],
  [`redis+sentinel://${nobody}@a/pay`, { username: undefined, password: 'p@ss' }],
])('reads %s', (url, parts) => {
  expect(parseSentinelUrl(url)).toMatchObject(parts);
});

test.each([
  'redis+sentinel://a',
  'redis+sentinel://a/',
  'redis+sentinel:///pay',
  'redis+sentinel://a,/pay',
  'redis+sentinel://a:99999/pay',
  'redis+sentinel://a/pay/x',
  'redis+sentinel://a/pay?x=1',
  `redis+sentinel://${broken}@b/pay`,
  'sentinel://a/pay',
])('refuses %s, and names what is allowed', async (url) => {
  expect(parseSentinelUrl(url)).toBeNull();
  await expect(openStore(url, { retentionMs })).rejects.toThrow(/STATE_URL is .+redis\[s\]\+sentinel:\/\//);
});

test('does not show who asks', () => {
  const address = parseSentinelUrl(`rediss+sentinel://${me}@a:1,[::1]/pay/2`) ?? expect.fail();
  expect(shownAddress(address)).toBe('rediss+sentinel://a:1,[::1]:26379/pay/2');
});

describe.skipIf(!hasRedis)('with redis-server (skipped where none is installed)', () => {
  const running: AsyncDisposable[] = [];
  const opened: PaymentStore[] = [];
  let primary: TestRedis;
  let replica: TestRedis;
  let sentinel: TestRedis;
  let url: string;

  const use = <T extends AsyncDisposable>(made: T): T => {
    running.push(made);
    return made;
  };
  async function open(change: { waitReplicas?: number; url?: string } = {}): Promise<PaymentStore> {
    const store = await openStore(change.url ?? url, { retentionMs, waitReplicas: 1, ...change });
    opened.push(store);
    return store;
  }
  const begin = (store: PaymentStore, id: string, trackId: string) => {
    const now = Date.now();
    const times = { createdAt: now, updatedAt: now, leaseUntil: now + lease };
    return store.begin(pending({ id, trackId, ...times }), now);
  };
  const replicates = (from: TestRedis) =>
    expect
      .poll(() => from.command('INFO', 'replication'), { timeout: 20_000 })
      .toMatch(/slave0:.*state=online/);

  beforeEach(async () => {
    primary = use(await startRedis([...durable, '--repl-diskless-sync-delay', '0']));
    const follow = ['--replicaof', `127.0.0.1 ${primary.address.port}`];
    replica = use(await startRedis([...durable, '--repl-diskless-sync-delay', '0', ...follow]));
    await replicates(primary);
    sentinel = use(await startSentinel('payments', primary));
    url = `redis+sentinel://127.0.0.1:${sentinel.address.port}/payments`;
    // It promotes a replica that it has seen.
    await expect
      .poll(() => sentinel.command('SENTINEL', 'REPLICAS', 'payments'), { timeout: 20_000 })
      .toHaveLength(1);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    for (const made of running.splice(0).reverse()) await made[Symbol.asyncDispose]();
  });

  test('no payment is sent twice when the primary dies under payments', { timeout: 120_000 }, async () => {
    const sent = new Map<string, number>();
    const stores = [await open(), await open()];
    let attempts = 0;

    /** Pays as bankql does: begins, sends where nothing was there, and writes the end. */
    async function pay(store: PaymentStore, id: string): Promise<boolean> {
      const trackId = `attempt-${attempts++}`;
      const found = await begin(store, id, trackId).catch(() => 'refused' as const);
      if (found === 'refused') return false;
      if (found !== null) return true;
      sent.set(id, (sent.get(id) ?? 0) + 1);
      await delay(5);
      await store.finish(id, trackId, done, Date.now()).catch(() => false);
      return true;
    }

    const ids = Array.from({ length: 400 }, (_, n) => `p-${n}`);
    let refusals = 0;
    async function client(store: PaymentStore, own: readonly string[]): Promise<void> {
      for (const id of own) {
        while (!(await pay(store, id))) {
          refusals++;
          await delay(50);
        }
        await delay(10);
      }
    }
    const clients = stores.flatMap((store, n) =>
      Array.from({ length: 4 }, (_, m) =>
        client(
          store,
          ids.filter((_, k) => k % 8 === n * 4 + m),
        ),
      ),
    );
    await delay(200);
    const before = sent.size;
    await primary.kill();
    await expect.poll(() => replica.command('ROLE'), { timeout: 20_000 }).toContain('master');
    // It comes back as what the Sentinel makes of it: the replica without which nothing is confirmed.
    await primary.restart();
    await Promise.all(clients);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(ids.length);
    expect(refusals).toBeGreaterThan(0);

    // All that was sent is known to the new primary, to whoever asks.
    const fresh = await open();
    for (const id of ids) while (!(await pay(fresh, id))) await delay(50);
    expect([...sent.values()].filter((times) => times !== 1)).toEqual([]);
    // Whose beginning could not be taken back was not sent, and its key is used up.
    const records = await fresh.search({}, Date.now());
    expect(records.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const unsent = records.filter(({ id }) => !sent.has(id));
    expect(unsent.filter(({ state }) => state !== 'PENDING')).toEqual([]);
    expect(unsent.length).toBeLessThan(ids.length / 10);
    expect(stores.map((store) => store.loss)).toEqual([null, null]);
    expect(fresh.loss).toBeNull();
  });

  test('a failover that lost payments is noticed', { timeout: 60_000 }, async () => {
    // It confirms what the one that is promoted does not get.
    const follow = ['--replicaof', `127.0.0.1 ${primary.address.port}`, '--replica-priority', '0'];
    use(await startRedis([...durable, '--repl-diskless-sync-delay', '0', ...follow]));
    await expect
      .poll(() => primary.command('INFO', 'replication'), { timeout: 20_000 })
      .toMatch(/slave1:.*state=online/);
    const store = await open();
    await begin(store, 'a', 'attempt-1');
    await expect.poll(() => replica.command('EXISTS', '{bankql}:payment:a')).toBe(1);
    // It may still be promoted, and gets nothing more.
    replica.pause();
    await primary.command('CLIENT', 'KILL', 'TYPE', 'replica');
    await replicates(primary);
    await begin(store, 'b', 'attempt-2');
    await primary.kill();
    replica.resume();
    await expect.poll(() => replica.command('ROLE'), { timeout: 20_000 }).toContain('master');
    const answer = () =>
      begin(store, 'c', 'attempt-3').then(
        () => 'begun',
        (error: unknown) => String(error),
      );
    await expect.poll(answer, { timeout: 10_000 }).toMatch(/it has lost records: .+ it holds 1 of them/);
    expect(store.loss).toMatch(/lost records/);
    expect(await store.find('a', Date.now())).toMatchObject({ state: 'PENDING' });
  });

  test('replicas have to confirm payments, unless it is accepted that they are forgotten', async () => {
    const wait = { waitReplicas: 0 };
    await expect(open(wait)).rejects.toThrow(
      /cannot be used: the Sentinels may put a replica in its place .+ STATE_WAIT_REPLICAS=1 or more, or .+ STATE_ALLOW_VOLATILE=1/,
    );
    const store = await openStore(url, { retentionMs, ...wait, allowVolatile: true });
    opened.push(store);
    expect(await begin(store, 'a', 'attempt-1')).toBeNull();
  });

  test('the start says what is wrong with what STATE_URL names', async () => {
    const refusal = (wrong: string) => open({ url: wrong }).catch((error: unknown) => String(error));
    const port = sentinel.address.port;
    expect(await refusal(`redis+sentinel://127.0.0.1:${port}/other`)).toContain(
      `redis+sentinel://127.0.0.1:${port}/other/0 cannot be used: the Sentinel 127.0.0.1:${port} knows no primary of the name other.`,
    );
    expect(await refusal(`redis+sentinel://127.0.0.1:${primary.address.port}/payments`)).toContain(
      `cannot be used: the Sentinel 127.0.0.1:${primary.address.port} is none: STATE_URL names a Redis itself with redis://`,
    );
    for (const database of ['', '/3']) {
      expect(await refusal(`${sentinel.url}${database}`)).toMatch(
        /cannot be used: it is a Sentinel, which keeps no records: STATE_URL is redis\+sentinel:/,
      );
    }
    expect(await refusal(`redis+sentinel://127.0.0.1:${await freePort()}/payments`)).toMatch(
      /cannot be reached: the Sentinel 127\.0\.0\.1:\d+ does not answer: connect ECONNREFUSED/,
    );
  });

  test('one Sentinel that answers is enough, also where it asks for a password', async () => {
    // On a busy machine they would take the primary for dead, and put the replica in its place.
    const downAfterMs = 60_000;
    await sentinel.command('SENTINEL', 'SET', 'payments', 'down-after-milliseconds', String(downAfterMs));
    const guarded = use(await startSentinel('payments', primary, { password: 'p@ss', downAfterMs }));
    await primary.command('CONFIG', 'SET', 'requirepass', 'p@ss');
    for (const { address } of [sentinel, guarded]) {
      const hosts = `127.0.0.1:${await freePort()},127.0.0.1:${address.port}`;
      const store = await open({ url: `redis+sentinel://${nobody}@${hosts}/payments/2` });
      expect(await begin(store, `p-${address.port}`, 'attempt-1')).toBeNull();
    }
    expect(
      await (await open({ url: `redis://${nobody}@127.0.0.1:${primary.address.port}/2` })).status(0),
    ).toMatchObject({
      records: 2,
    });
  });
});

describe.skipIf(!hasRedis)('Sentinels that differ (skipped where no redis-server is installed)', () => {
  test('are followed where most agree, also away from a primary that still answers', async () => {
    await using before = await startRedis();
    await using after = await startRedis();
    await using made = new AsyncDisposableStack();
    const named = [before, after, before];
    const sentinels = await Promise.all(
      named.map(async (_, n) => {
        const server = createServer((socket) => {
          socket.on('error', () => {});
          socket.on('data', () => {
            const port = String(named[n]?.address.port);
            socket.write(`*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`);
          });
        }).listen(0, '127.0.0.1');
        made.defer(() => void server.close());
        await once(server, 'listening');
        const address = server.address();
        return { host: '127.0.0.1', port: typeof address === 'object' ? (address?.port ?? 0) : 0 };
      }),
    );
    const { host: _, port: __, ...primary } = before.address;
    const limits = { retentionMs, timeoutMs: 100, startTimeoutMs: 200, allowVolatile: true };
    const open = (asked: typeof sentinels) =>
      createRedisStore({ ...limits, address: { ...primary, sentinels: asked, primaryName: 'payments' } });

    await expect(open(sentinels.slice(0, 2))).rejects.toThrow('the Sentinels name different primaries');
    const store = await open(sentinels);
    made.defer(() => store.close());
    const begin = (id: string) => store.begin(pending({ id }), Date.now()).catch(() => 'not yet');
    expect(await begin('a')).toBeNull();
    // Longer than it takes until they are asked again.
    await delay(2_500);
    expect(await begin('b')).toBeNull();
    expect(await before.command('EXISTS', '{bankql}:payment:a', '{bankql}:payment:b')).toBe(2);

    named[2] = after;
    await expect
      .poll(() => begin('c').then(() => after.command('EXISTS', '{bankql}:payment:c')), { timeout: 10_000 })
      .toBe(1);
  });
});

describe.skipIf(!hasRedis)('a Redis Cluster (skipped where no redis-server is installed)', () => {
  test('is refused, whatever is accepted', { timeout: 20_000 }, async () => {
    const bus = String(await freePort());
    await using node = await startRedis([...durable, '--cluster-enabled', 'yes', '--cluster-port', bus]);
    for (const database of ['', '/3']) {
      for (const allowVolatile of [false, true]) {
        await expect(openStore(`${node.url}${database}`, { retentionMs, allowVolatile })).rejects.toThrow(
          /cannot be used: it is a node of a Redis Cluster, .+ run a primary of its own/,
        );
      }
    }
  });
});
