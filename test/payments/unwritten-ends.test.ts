import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { operations } from '../../src/contract/operations.ts';
import type { StoreDriver } from '../../src/payments/driver.ts';
import { createProtocolStore } from '../../src/payments/protocol-store.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { type PaymentRecord, type PaymentState, StoreUnavailable } from '../../src/payments/store.ts';
import { createMemoryDriver } from '../../src/payments/stores/memory-store.ts';
import { parseUnwrittenOutcome } from '../../src/payments/unwritten-ends.ts';
import {
  bankDefaults,
  createTestBankql,
  type Result,
  type TestBankql,
  testLeaseMs,
  testOptions,
} from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { closedTcpGate } from '../support/tcp-gate.ts';
import { done, pending } from './stores/store-conformance.ts';

const pay = `mutation ($key: String!, $account: ID = "ACC") {
  makeTransaction(input: { accountId: $account, to: { accountId: "TO" }, value: { amount: "1" }, idempotencyKey: $key }) {
    replayed payment { trackId transactionId status }
  }
}`;
const find = `query ($key: String!) { payment(idempotencyKey: $key) { state trackId transactionId status code } }`;
const list = '{ payments(states: [DONE]) { nodes { idempotencyKey state } } }';

/** A database in memory, and two processes' stores over it: single methods can be taken away from the first one's driver. */
async function fragileStore() {
  const driver = createMemoryDriver();
  const away = new Set<keyof StoreDriver>();
  const all = ['insertIfAbsent', 'compareAndSet', 'find', 'search'] as const;
  const guarded =
    (name: (typeof all)[number]) =>
    async (...args: never[]) => {
      if (away.has(name)) throw new StoreUnavailable('The store is away.');
      return Reflect.apply(driver[name], driver, args);
    };
  const fragile: StoreDriver = {
    ...driver,
    ...(Object.fromEntries(all.map((name) => [name, guarded(name)])) as unknown as StoreDriver),
  };
  const open = (opened: StoreDriver) =>
    createProtocolStore({
      ...{ name: 'in memory', retentionMs: 86_400_000, markFiles: [] },
      ...{ allowVolatile: true, countsAreConfirmed: false, open: async () => opened },
    });
  const kept = await open(driver);
  return {
    kept,
    driver: fragile,
    store: await open(fragile),
    takeAway: (...names: (typeof all)[number][]) => {
      for (const name of names.length === 0 ? all : names) away.add(name);
    },
    giveBack: () => away.clear(),
    only: async (): Promise<PaymentRecord | undefined> => (await kept.search({}, Date.now()))[0],
  };
}

describe('an end that the store cannot be told', () => {
  let bank: RecordingBank;
  let fragile: Awaited<ReturnType<typeof fragileStore>>;
  let options: Awaited<ReturnType<typeof testOptions>>;
  let bankql: TestBankql;
  let time: number;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    time = Date.now();
    bank = await startRecordingBank();
    fragile = await fragileStore();
    await start();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await bankql[Symbol.asyncDispose]();
    await bank[Symbol.asyncDispose]();
  });

  async function start(url = bank.url) {
    options = await testOptions({ bankUrl: url, store: fragile.store, now: () => time });
    bankql = await createTestBankql({ bankUrl: url, payments: options.payments });
  }
  const ask = (document: string, key = 'key', account = 'ACC') =>
    bankql.ask<Record<string, Record<string, unknown> | null>, object>(document, { key, account });

  /** Pays while the bank answers and the store is gone when it does. */
  async function payAndLose(
    body: unknown,
    status = 200,
    key = 'key',
  ): Promise<Result<Record<string, unknown>>> {
    bank.otherwise(() => {
      fragile.takeAway();
      return { status, body: body as object };
    });
    return ask(pay, key);
  }

  test('is answered by the process that knows it, and written when the store is back', async () => {
    const first = await payAndLose({ id: 'TX', status: 'BOOKED' });
    const trackId = bank.calls[0]?.headers['track-id'];
    const paid = { replayed: false, payment: { trackId, transactionId: 'TX', status: 'BOOKED' } };
    expect(first).toEqual({ data: { makeTransaction: paid } });
    expect(options.payments.unwrittenEnds()).toBe(1);
    expect((await fragile.only())?.state).toBe('PENDING');

    const known = { state: 'DONE', trackId, transactionId: 'TX', status: 'BOOKED', code: null };
    const replayed = { data: { makeTransaction: { ...paid, replayed: true } } };
    expect(await ask(pay)).toEqual(replayed);
    expect((await ask(find)).data?.payment).toEqual(known);
    // What it knows does not depend on what the store says meanwhile.
    fragile.giveBack();
    fragile.takeAway('compareAndSet');
    time += 2 * testLeaseMs;
    expect((await fragile.only())?.state).toBe('PENDING');
    expect((await fragile.kept.search({}, time))[0]?.state).toBe('UNKNOWN');
    expect(await ask(pay)).toEqual(replayed);
    expect((await ask(find)).data?.payment).toEqual(known);
    expect((await ask(list)).data?.payments).toEqual({ nodes: [{ idempotencyKey: 'key', state: 'DONE' }] });
    expect(options.payments.unwrittenEnds()).toBe(1);

    fragile.giveBack();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(options.payments.unwrittenEnds()).toBe(0);
    expect(await fragile.only()).toMatchObject({ state: 'DONE', answer: '{"id":"TX","status":"BOOKED"}' });
    expect(await ask(pay)).toEqual(replayed);
    expect(bank.calls).toHaveLength(1);
  });

  test('is tried for as long as the process lives', async () => {
    await payAndLose({});
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(options.payments.unwrittenEnds()).toBe(1);
    fragile.giveBack();
    await vi.advanceTimersByTimeAsync(4000);
    expect(options.payments.unwrittenEnds()).toBe(0);
    expect((await fragile.only())?.state).toBe('DONE');
  });

  test.each([
    [422, 'BANK_REJECTED'],
    [409, 'OUTCOME_UNKNOWN'],
  ])('may be what the bank answered with %i', async (status, code) => {
    const first = await payAndLose({ message: 'no' }, status);
    expect(failuresOf(first)).toEqual([`makeTransaction ${code}`]);
    const again = await ask(pay);
    expect(again.errors?.[0]).toMatchObject({
      message: first.errors?.[0]?.message,
      extensions: { code, status },
    });
    expect(bank.calls).toHaveLength(1);
  });

  test('of one key says nothing of another payment under it', async () => {
    await payAndLose({});
    expect(failuresOf(await ask(pay, 'key', 'OTHER'))).toEqual(['makeTransaction IDEMPOTENCY_KEY_REUSED']);
    expect(failuresOf(await ask(pay, 'another'))).toEqual(['makeTransaction STATE_UNAVAILABLE']);
    expect(bank.calls).toHaveLength(1);
  });

  test('gives way to what an operator settled meanwhile', async () => {
    await payAndLose({});
    fragile.giveBack();
    time += 2 * testLeaseMs;
    const record = (await fragile.kept.search({}, time))[0];
    expect(await fragile.kept.settle(record?.id ?? '', 'REJECTED', 'Ada', time)).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(options.payments.unwrittenEnds()).toBe(0);
    expect((await ask(find)).data?.payment).toMatchObject({ state: 'REJECTED' });
  });

  test('keeps a key that is to be free again until the store knows it', async () => {
    const gate = await closedTcpGate(bank.url);
    await bankql[Symbol.asyncDispose]();
    await start(gate.url);
    fragile.takeAway('compareAndSet');
    expect(failuresOf(await ask(pay))).toEqual(['makeTransaction BANK_UNAVAILABLE']);
    expect(options.payments.unwrittenEnds()).toBe(1);
    await gate.open();
    bank.otherwise({ body: {} });
    expect(failuresOf(await ask(pay))).toEqual(['makeTransaction STATE_UNAVAILABLE']);
    expect(failuresOf(await ask(find))).toEqual(['payment STATE_UNAVAILABLE']);
    expect(bank.calls).toEqual([]);
    fragile.giveBack();
    // It is asked for before the next attempt to write: that is one.
    expect((await ask(find)).data).toEqual({ payment: null });
    expect(options.payments.unwrittenEnds()).toBe(0);
    expect((await ask(pay)).data?.makeTransaction).toMatchObject({ replayed: false });
    expect(bank.calls).toHaveLength(1);
    await gate[Symbol.asyncDispose]();
  });

  test('is kept where the store lost the record, so that its key sends nothing again', async () => {
    bank.otherwise(async () => {
      const record = await fragile.only();
      expect(
        await fragile.kept.end({
          id: record?.id ?? '',
          trackId: record?.trackId ?? '',
          outcome: null,
          at: time,
        }),
      ).toBe(true);
      return { body: { id: 'TX' } };
    });
    expect((await ask(pay)).data?.makeTransaction).toMatchObject({
      replayed: false,
      payment: { transactionId: 'TX' },
    });
    expect(await fragile.only()).toBeUndefined();
    expect(options.payments.unwrittenEnds()).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await ask(pay)).data?.makeTransaction).toMatchObject({
      replayed: true,
      payment: { transactionId: 'TX' },
    });
    expect((await ask(find)).data?.payment).toMatchObject({ state: 'DONE' });
    expect(bank.calls).toHaveLength(1);
    await options.payments.idle();
    expect(options.audit.filter(({ event }) => event === 'unwritten-end')).toHaveLength(1);
  });

  test('is kept whatever the store fails with: the client is told the truth', async () => {
    vi.spyOn(fragile.driver, 'compareAndSet').mockRejectedValueOnce(
      new TypeError('a reply of another shape'),
    );
    bank.otherwise(() => ({ body: { id: 'TX' } }));
    expect((await ask(pay)).data?.makeTransaction).toMatchObject({ payment: { transactionId: 'TX' } });
    expect(options.payments.unwrittenEnds()).toBe(1);
    await vi.advanceTimersByTimeAsync(250);
    expect(options.payments.unwrittenEnds()).toBe(0);
    expect((await fragile.only())?.state).toBe('DONE');
  });

  test('of an earlier attempt is no end of a later one under the same key', async () => {
    const { store, driver } = fragile;
    const [first, second] = [pending({ trackId: 'first' }), pending({ trackId: 'second' })];
    const { id } = first;
    await store.begin(first, time);
    fragile.takeAway('compareAndSet');
    await expect(store.end({ id, trackId: 'first', outcome: null, at: time })).rejects.toThrow(
      StoreUnavailable,
    );
    fragile.giveBack();
    const slow = Promise.withResolvers<boolean>();
    vi.spyOn(driver, 'compareAndSet').mockImplementationOnce(() => slow.promise);
    await vi.advanceTimersByTimeAsync(250);
    // Asked for meanwhile, its key becomes free and is used again.
    expect(await store.begin(second, time)).toBeNull();
    fragile.takeAway('compareAndSet');
    await expect(store.end({ id, trackId: 'second', outcome: done, at: time })).rejects.toThrow(
      StoreUnavailable,
    );
    slow.resolve(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(await store.find(id, time)).toMatchObject({ trackId: 'second', state: 'DONE' });
    expect(store.unwritten().map(({ end }) => end.trackId)).toEqual(['second']);
  });

  test('ends a payment that was not sent as REJECTED if somebody asked after the lease', async () => {
    const gate = await closedTcpGate(bank.url);
    await bankql[Symbol.asyncDispose]();
    await start(gate.url);
    fragile.takeAway('compareAndSet');
    expect(failuresOf(await ask(pay))).toEqual(['makeTransaction BANK_UNAVAILABLE']);
    time += 2 * testLeaseMs;
    expect((await fragile.kept.search({}, time))[0]?.state).toBe('UNKNOWN');
    fragile.giveBack();
    expect((await ask(find)).data?.payment).toMatchObject({ state: 'REJECTED' });
    // Somebody may have been told that it may have been sent, and have paid in another way.
    const again = await ask(pay);
    expect(failuresOf(again)).toEqual(['makeTransaction BANK_REJECTED']);
    expect(JSON.stringify(again)).toContain('was not executed, and is never sent under this idempotency key');
    await gate[Symbol.asyncDispose]();
  });

  test('is in the log when the process ends, with all that is needed to write it and no credential', async () => {
    await payAndLose({ id: 'TX the-subscription-key', status: 'BOOKED' });
    const paid = (await ask(pay)).data?.makeTransaction;
    await options.payments.idle();
    const [line, ...others] = options.audit.filter(({ event }) => event === 'unwritten-end');
    expect(others).toEqual([]);
    const text = JSON.stringify({ level: 30, time: 1, audit: 'payment', ...line, msg: 'payment' });
    for (const secret of ['the-subscription-key', 'the-caller', 'the-provider', '"key"']) {
      expect(text).not.toContain(secret);
    }

    // The next process has the database, and the log.
    time += 2 * testLeaseMs;
    await bankql[Symbol.asyncDispose]();
    fragile.store = fragile.kept;
    await start();
    expect((await ask(find)).data?.payment).toMatchObject({ state: 'UNKNOWN' });
    const end = parseUnwrittenOutcome(text) ?? expect.unreachable();
    expect(await fragile.store.end(end)).toBe(true);
    expect(await fragile.store.end(end)).toBe(false);
    expect((await ask(pay)).data?.makeTransaction).toEqual({ ...paid, replayed: true });
    expect(paid).toMatchObject({ payment: { transactionId: 'TX [redacted]', status: 'BOOKED' } });
    expect(bank.calls).toHaveLength(1);
  });

  test('holds the end of the process up for two seconds at most', async () => {
    await payAndLose({});
    fragile.giveBack();
    const finish = vi.spyOn(fragile.driver, 'compareAndSet').mockImplementation(() => new Promise(() => {}));
    const idle = options.payments.idle();
    await vi.advanceTimersByTimeAsync(2000);
    await idle;
    expect(finish).toHaveBeenCalled();
    expect(options.audit.filter(({ event }) => event === 'unwritten-end')).toHaveLength(1);
  });

  test('is no reason for a line where the last attempt succeeds', async () => {
    await payAndLose({});
    fragile.giveBack();
    await options.payments.idle();
    expect((await fragile.only())?.state).toBe('DONE');
    expect(options.audit.map(({ state, event }) => [state, event])).toEqual([
      ['PENDING', undefined],
      ['DONE', undefined],
    ]);
  });
});

test('are held for 1,000 payments; then none begins until the store is back', async () => {
  const sent = vi.fn(async () => ({
    status: 200,
    headers: { 'content-length': '0' },
    milliseconds: 1,
    body: Buffer.alloc(0),
  }));
  const client = createBankClient({ ...bankDefaults, baseUrl: 'http://127.0.0.1:9' });
  const fragile = await fragileStore();
  fragile.takeAway('compareAndSet');
  const payments = createPaymentService({
    bank: { ...client, send: sent },
    store: fragile.store,
    // So many take long on a busy machine.
    leaseMs: 600_000,
  });
  const payWith = (idempotencyKey: string) =>
    payments.pay(operations.postMakeTransaction, {
      idempotencyKey,
      input: {
        ids: { bankId: 'B', accountId: 'A' },
        body: { from: {}, to: {} },
        credentials: { subscriptionKey: 'key', authProviderName: 'provider', authId: 'caller' },
      },
    });
  await Promise.all(Array.from({ length: 1000 }, (_, n) => payWith(`key-${n}`)));
  expect(payments.unwrittenEnds()).toBe(1000);
  await expect(payWith('one more')).rejects.toMatchObject({
    extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'one more' },
  });
  // What is known is told all the same.
  expect(await payWith('key-7')).toMatchObject({ replayed: true });
  expect(sent).toHaveBeenCalledTimes(1000);
  fragile.giveBack();
  await payments.idle();
  expect(payments.unwrittenEnds()).toBe(0);
  expect(await payWith('one more')).toMatchObject({ replayed: false });
  expect(sent).toHaveBeenCalledTimes(1001);
  await client.close();
});

describe('a line of the log', () => {
  const line = {
    event: 'unwritten-end',
    id: 'a',
    trackId: 't',
    state: 'DONE',
    answer: null,
    code: null,
    status: 200,
    message: null,
    bankText: null,
    updatedAt: 7,
  };

  test.each([
    ['nothing', ''],
    ['no JSON', 'bankql serves GraphQL at …'],
    ['a list', '[]'],
    ['null', 'null'],
    ['another line', JSON.stringify({ ...line, event: undefined })],
  ])('that is %s is no unwritten end', (_, text) => {
    expect(parseUnwrittenOutcome(text)).toBeNull();
  });

  test('that is one says what is to be written', () => {
    const { state, answer, code, status, message, bankText } = line;
    expect(parseUnwrittenOutcome(JSON.stringify(line))).toEqual({
      id: 'a',
      trackId: 't',
      outcome: { state, answer, code, status, message, bankText },
      at: 7,
    });
    expect(parseUnwrittenOutcome(JSON.stringify({ ...line, state: 'RELEASED' }))).toEqual({
      id: 'a',
      trackId: 't',
      outcome: null,
      at: 7,
    });
  });

  test.each(['id', 'trackId', 'state', 'answer', 'updatedAt'])('without its %s is damaged', (field) => {
    expect(() => parseUnwrittenOutcome(JSON.stringify({ ...line, [field]: undefined }))).toThrow(/damaged/);
  });
});

test('a search by state finds all payments while an end is not written', async () => {
  const { store, takeAway } = await fragileStore();
  const now = Date.now();
  const times = (n: number) => ({ createdAt: now - 10_000 + n, updatedAt: now, leaseUntil: now + 600_000 });
  const of = (n: number) => ({ id: `id${n}`, trackId: `track${n}` });
  for (let n = 0; n < 6; n++) await store.begin(pending({ ...of(n), ...times(n) }), now);
  for (let n = 1; n < 6; n++) {
    if (n === 5) takeAway('compareAndSet');
    await store.end({ id: `id${n}`, trackId: `track${n}`, outcome: done, at: now }).catch(() => {});
  }
  expect(store.unwritten()).toHaveLength(1);
  const find = async (states: PaymentState[], limit: number) =>
    (await store.search({ states, newestFirst: true, limit }, now)).map(({ id }) => id);
  expect(await find(['PENDING'], 2)).toEqual(['id0']);
  expect(await find(['DONE'], 2)).toEqual(['id5', 'id4']);
  expect(await find(['DONE'], 100)).toEqual(['id5', 'id4', 'id3', 'id2', 'id1']);
  await store.close();
});
