import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import { type ReadLimits, type ReadResult, Reads, type SharedSource } from '../../src/bank/reads.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { type PreparedCall, prepareCall } from '../../src/bank/request.ts';
import type { CallLimits } from '../../src/bank/transport.ts';
import { getBranches, postBranches, putBranchID } from '../../src/contract/branch.ts';
import { getCustomer, putCustomerID } from '../../src/contract/customer.ts';
import { BankqlError } from '../../src/errors.ts';
import { slices } from '../../src/load/slices.ts';
import { readFrom } from '../support/bank-client.ts';
import { bankDefaults } from '../support/bankql.ts';
import { inTimeMs } from '../support/in-time.ts';
import { letPass } from '../support/let-pass.ts';
import { keptMegabytes } from '../support/memory.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { branchOf } from '../support/records.ts';
import { lateBy, until } from '../support/waits.ts';

let bank: RecordingBank;
const open: BankClient[] = [];
beforeEach(async () => {
  bank = await startRecordingBank();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
  await bank.close();
});

const shared: string[] = [];
beforeEach(() => {
  shared.length = 0;
});

function clientWith(options: Partial<BankOptions> = {}): BankClient {
  const client = createBankClient({
    ...bankDefaults,
    baseUrl: bank.url,
    publicCacheTtlMs: 60_000,
    onShared: (operation, how) => shared.push(`${operation} ${how}`),
    ...options,
  });
  open.push(client);
  return client;
}

const alice: Credentials = { subscriptionKey: 'key-1', authProviderName: 'provider', authId: 'alice' };
const ofCustomer = (credentials: Credentials, id = 'c') => ({
  ids: { bankId: 'B', customerId: id },
  credentials,
});
const ofBank = (credentials: Credentials) => ({ ids: { bankId: 'B' }, credentials });
const branches = { body: { branches: [branchOf({ id: 'b-1' })] } };

/** Holds the bank's answers back until they are released. */
function held(reply: object) {
  const { promise, resolve } = Promise.withResolvers<void>();
  bank.otherwise(async () => {
    await promise;
    return reply;
  });
  return resolve;
}

/** Until so many calls have arrived. */
const arrived = (count: number) => expect.poll(() => bank.calls.length).toBe(count);

describe('private reads', () => {
  test('that join a call which fails ask again each in the name of its own request', async () => {
    const request = new AsyncLocalStorage<string>();
    const calls: (string | undefined)[] = [];
    const client = clientWith({ onCall: () => void calls.push(request.getStore()) });
    const answer = held({ status: 500, body: {} });
    const read = () =>
      readFrom(client, getCustomer, ofCustomer(alice)).catch(({ code }) => [request.getStore(), code]);
    const reads = ['first', 'second', 'third'].map((name) => request.run(name, read));
    await arrived(1);
    answer();
    expect(await Promise.all(reads)).toEqual([
      ['first', 'BANK_ERROR'],
      ['second', 'BANK_ERROR'],
      ['third', 'BANK_ERROR'],
    ]);
    expect(calls.toSorted()).toEqual(['first', 'second', 'third']);
  });

  test('of the same caller at the same time share a call; later ones do not', async () => {
    const client = clientWith();
    const release = held({ body: { email: 'a@b' } });
    const asked = [1, 2, 3].map(() => readFrom(client, getCustomer, ofCustomer({ ...alice })));
    await arrived(1);
    release();
    for (const { answer } of await Promise.all(asked)) expect(answer.email).toBe('a@b');
    expect(bank.calls).toHaveLength(1);
    expect(shared).toEqual(['getCustomer joined', 'getCustomer joined']);
    await readFrom(client, getCustomer, ofCustomer(alice));
    expect(bank.calls).toHaveLength(2);
  });

  test.each<[string, Credentials]>([
    ['the key', { ...alice, subscriptionKey: 'key-2' }],
    ['the provider', { ...alice, authProviderName: 'provider-2' }],
    ['the id', { ...alice, authId: 'bob' }],
    ['a letter’s case', { ...alice, authId: 'Alice' }],
    ['where one ends and the next begins', { ...alice, authProviderName: 'providera', authId: 'lice' }],
  ])('of callers that differ in %s share nothing', async (_what, other) => {
    const client = clientWith();
    const release = held({ body: {} });
    const asked = [alice, other].map((credentials) => readFrom(client, getCustomer, ofCustomer(credentials)));
    await arrived(2);
    release();
    await Promise.all(asked);
    expect(shared).toEqual([]);
  });

  test('that left before a write of the caller are joined no more, neither while it is under way nor after it', async () => {
    const client = clientWith();
    const releases: (() => void)[] = [];
    bank.otherwise(({ method }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      releases.push(resolve);
      return promise.then(() => ({ body: { email: method } }));
    });
    const before = readFrom(client, getCustomer, ofCustomer(alice));
    await arrived(1);
    const write = client.write(putCustomerID, { ...ofCustomer(alice), body: {} });
    await arrived(2);
    const during = readFrom(client, getCustomer, ofCustomer(alice));
    await arrived(3);
    releases[1]?.();
    await write;
    const after = readFrom(client, getCustomer, ofCustomer(alice));
    await arrived(4);
    for (const release of releases) release();
    await Promise.all([before, during, after]);
    expect(shared).toEqual([]);
  });

  test('that join a call have as long as they would have alone', async () => {
    const reports: CallReport[] = [];
    const client = clientWith({ timeoutMs: 2_000, onCall: (report) => reports.push(report) });
    bank.otherwise(() => 'hang');
    const first = readFrom(client, getCustomer, ofCustomer(alice)).catch((error: unknown) => error);
    await arrived(1);
    await lateBy(500);
    const started = performance.now();
    const second = readFrom(client, getCustomer, ofCustomer(alice)).catch((error: unknown) => error);
    expect(await first).toMatchObject({ code: 'BANK_TIMEOUT' });
    expect(await second).toMatchObject({ code: 'BANK_TIMEOUT' });
    expect(performance.now() - started).toBeGreaterThan(1_980);
    expect(performance.now() - started).toBeLessThan(inTimeMs);
    // It was the bank that was late, nobody left.
    expect(reports[0]).toMatchObject({ reason: 'timeout' });
  });
});

describe('public reads', () => {
  test('are kept for all callers with the same key, by path and body', async () => {
    const client = clientWith();
    bank.otherwise(branches);
    const query = (id: string) => ({ ...ofBank(alice), body: { id } });
    await readFrom(client, getBranches, ofBank(alice));
    await readFrom(client, getBranches, ofBank({ ...alice, authId: 'bob' }));
    await readFrom(client, postBranches, query('x'));
    await readFrom(client, postBranches, query('x'));
    await readFrom(client, postBranches, query('y'));
    await readFrom(client, getBranches, ofBank({ ...alice, subscriptionKey: 'key-2' }));
    expect(bank.lines()).toEqual([
      'GET /v1/api/banks/B/branches',
      'POST /v1/api/banks/B/branches',
      'POST /v1/api/banks/B/branches',
      'GET /v1/api/banks/B/branches',
    ]);
    expect(shared).toEqual(['getBranches cached', 'postBranches cached']);
  });

  test('are not kept where the cache is off, where they are made alone, or where they break the contract', async () => {
    const off = clientWith({ publicCacheTtlMs: 0 });
    bank.otherwise(branches);
    await readFrom(off, getBranches, ofBank(alice));
    await readFrom(off, getBranches, ofBank(alice));
    expect(bank.calls).toHaveLength(2);
    const client = clientWith();
    await readFrom(client, getBranches, ofBank(alice), { unshared: true });
    bank.otherwise({ body: { branches: [branchOf({ acceptsDeposits: 'yes' })] } });
    await readFrom(client, getBranches, ofBank(alice));
    await readFrom(client, getBranches, ofBank(alice));
    expect(bank.calls).toHaveLength(5);
  });

  test('are forgotten at a write of public data, whoever writes, and a read that left before it is not kept', async () => {
    const client = clientWith();
    bank.otherwise(branches);
    await readFrom(client, getBranches, ofBank(alice));
    await readFrom(client, getBranches, ofBank({ ...alice, subscriptionKey: 'key-2' }));
    const write = () =>
      client.write(putBranchID, {
        ids: { bankId: 'B', branchId: 'b' },
        body: { acceptsDeposits: true },
        credentials: { ...alice, authId: 'bob' },
      });
    bank.on('PUT /v1/api/banks/B/branches/b', { body: branchOf() });
    await write();
    await readFrom(client, getBranches, ofBank(alice));
    await readFrom(client, getBranches, ofBank({ ...alice, subscriptionKey: 'key-2' }));
    expect(bank.lines().filter((line) => line.startsWith('GET'))).toHaveLength(4);

    const other = clientWith();
    const release = held(branches);
    const slow = readFrom(other, getBranches, ofBank(alice));
    await arrived(6);
    await other.write(putBranchID, {
      ids: { bankId: 'B', branchId: 'b' },
      body: { acceptsDeposits: true },
      credentials: alice,
    });
    release();
    await slow;
    await readFrom(other, getBranches, ofBank(alice));
    expect(bank.lines().filter((line) => line.startsWith('GET'))).toHaveLength(6);
  });

  test.each([
    ['answers with 503', () => ({ status: 503 })],
    ['resets connections', () => 'reset' as const],
    ['does not answer', () => 'hang' as const],
  ])('stand in where the bank %s, and say how old they are; a refusal is no absence', async (_, act) => {
    const client = clientWith({ publicCacheTtlMs: 1, ...(act() === 'hang' ? { timeoutMs: 1000 } : {}) });
    bank.otherwise(branches);
    await readFrom(client, getBranches, ofBank(alice));
    letPass(5);
    bank.otherwise(act);
    const sources: unknown[][] = [];
    const limits = { onSource: (...source: unknown[]) => void sources.push(source) };
    const { answer } = await readFrom(client, getBranches, ofBank(alice), limits);
    expect(answer).toEqual(branches.body.branches);
    expect(shared).toEqual(['getBranches stale']);
    expect(sources).toEqual([['stale', 'getBranches', expect.any(Number)]]);
    expect(sources[0]?.[2]).toBeGreaterThan(0);
    bank.otherwise({ status: 404, body: 'gone' });
    await expect(readFrom(client, getBranches, ofBank(alice))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    bank.otherwise(branches);
    await readFrom(client, getBranches, ofBank(alice), limits);
    expect(sources).toHaveLength(1);
  });
});

test('a public record that does not exist is one call for all who ask together', async () => {
  const client = clientWith();
  const release = held({ status: 404, body: { message: 'no such bank' } });
  const asked = Array.from({ length: 20 }, (_, n) =>
    readFrom(client, getBranches, ofBank({ ...alice, authId: `${n}` })).catch(({ code }) => code),
  );
  await arrived(1);
  release();
  expect(await Promise.all(asked)).toEqual(Array(20).fill('NOT_FOUND'));
  expect(bank.calls).toHaveLength(1);
});

describe('a long answer', () => {
  const long = (id: string) => ({
    branches: [branchOf({ id, location: { latitude: '1.5' }, name: 'n'.repeat(1_000_000) })],
  });
  const { length } = JSON.stringify(long('a'));
  const read = (client: BankClient, limits: ReadLimits) =>
    readFrom(client, getBranches, ofBank(alice), limits);

  test('is one call for 50 readers, though the one that began it leaves while it arrives', async () => {
    const client = clientWith({ publicCacheTtlMs: 0, maxBodyBytes: 8 * 1024 * 1024 });
    const [begun, leaving] = [Promise.withResolvers<void>(), new OperationDeadline()];
    let hasLeft = false;
    bank.otherwise(async () => {
      await begun.promise;
      return { body: long('a') };
    });
    // The budget of an operation that has ended has no room.
    const ofFirst = {
      keep: () => {
        leaving.cancel();
        hasLeft = true;
        return false;
      },
    };
    const first = read(client, { operationDeadline: leaving, readBudget: ofFirst }).catch(({ code }) => code);
    const others = Array.from({ length: 49 }, () => read(client, {}));
    await arrived(1);
    begun.resolve();
    for (const { answer } of await Promise.all(others)) expect(answer).toHaveLength(1);
    expect(hasLeft).toBe(true);
    expect(['OVERLOADED', 'BANK_UNAVAILABLE']).toContain(await first);
    expect(bank.calls).toHaveLength(1);
  });

  test('counts in the budget of each of its readers, when it is there', async () => {
    const client = clientWith({ publicCacheTtlMs: 0 });
    bank.otherwise({ body: long('a') });
    const kept: number[][] = [[], []];
    const answers = await Promise.all(
      kept.map((own) => read(client, { readBudget: { keep: (bytes) => own.push(bytes) > 0 } })),
    );
    expect(bank.calls).toHaveLength(1);
    expect(answers.map(({ bytes }) => bytes)).toEqual([length, length]);
    expect(kept).toEqual([[length], [length]]);
  });

  test('fails the reader whose budget has no room for it, and no other', async () => {
    const client = clientWith({ publicCacheTtlMs: 0 });
    bank.otherwise({ body: long('a') });
    const full = { keep: () => false };
    const [refused, served] = await Promise.allSettled([
      read(client, { readBudget: full }),
      read(client, {}),
    ]);
    expect(refused).toMatchObject({ reason: { code: 'OVERLOADED' } });
    expect(served.status).toBe('fulfilled');
    expect(bank.calls).toHaveLength(1);
  });

  test('is not read to its end if it leaves no room for others; short answers always have room', async () => {
    const client = clientWith({ publicCacheTtlMs: 0, arrivingBytes: 1_000_000 });
    bank.otherwise(({ path }) => ({ body: path.endsWith('/branches') ? long('a') : { email: 'a@b' } }));
    await expect(read(client, {})).rejects.toMatchObject({ code: 'OVERLOADED' });
    // What it held is free again.
    const emails = Array.from({ length: 20 }, (_, n) =>
      readFrom(client, getCustomer, ofCustomer(alice, `${n}`)),
    );
    for (const { answer } of await Promise.all(emails)) expect(answer.email).toBe('a@b');
    const roomy = clientWith({ publicCacheTtlMs: 0, arrivingBytes: 2 * length });
    expect((await read(roomy, {})).bytes).toBe(length);
    expect((await read(roomy, {})).bytes).toBe(length);
  });

  test('is parsed when there is time; if its operation ends before, it is not parsed at all', async () => {
    const drifts: string[] = [];
    const client = clientWith({ onDrift: ({ field }) => void drifts.push(field) });
    bank.otherwise({ body: long('a') });
    const deadlines = [new OperationDeadline(), new OperationDeadline()] as const;
    const wait = vi.spyOn(slices, 'wait');
    // There is never time at once.
    const hasTime = vi.spyOn(slices, 'hasTime', 'get').mockReturnValue(false);
    const { promise: time, resolve: giveTime } = Promise.withResolvers<void>();
    wait.mockReturnValue(time);
    onTestFinished(() => {
      wait.mockRestore();
      hasTime.mockRestore();
    });
    const outcomes = Promise.allSettled(
      deadlines.map((operationDeadline) => read(client, { operationDeadline, unshared: true })),
    );
    await until(() => wait.mock.calls.length === 2);
    deadlines[0].cancel();
    expect(drifts).toEqual([]);
    giveTime();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(drifts).toEqual(['location.latitude']);
  });
});

describe('what is said of answers', () => {
  test('reads and writes report an answer that cannot be read, but not an answer that says it is an error', async () => {
    const unreadable: unknown[] = [];
    const reported = clientWith({ onUnreadable: (answer) => void unreadable.push(answer) });
    const input = ofCustomer(alice);
    const badly = { code: 'BANK_BAD_RESPONSE' };
    bank.otherwise({ body: { email: 'a@b' } });
    await readFrom(reported, getCustomer, input);
    bank.otherwise({ body: { message: 'The host is away.' } });
    await expect(readFrom(reported, getCustomer, input)).rejects.toMatchObject({ code: 'BANK_REJECTED' });
    expect(unreadable).toEqual([]);
    bank.otherwise({ body: '{"oops":' });
    await expect(readFrom(reported, getCustomer, input)).rejects.toMatchObject(badly);
    await expect(reported.write(putCustomerID, { ...input, body: {} })).rejects.toMatchObject(badly);
    expect(unreadable).toEqual([
      {
        operation: 'getCustomer',
        trackId: null,
        status: 200,
        failure: "The bank's answer to getCustomer is not JSON.",
      },
      {
        operation: 'putCustomerID',
        trackId: expect.any(String),
        status: 200,
        failure: "The bank's answer to putCustomerID is not JSON.",
      },
    ]);
  });

  test('each answer with drifts is reported, and is understood', async () => {
    const drifts: string[] = [];
    const client = clientWith({
      publicCacheTtlMs: 0,
      onDrift: ({ operation, field }) => void drifts.push(`${operation} ${field}`),
    });
    bank.otherwise({ body: { branches: [branchOf({ location: { latitude: '1.5' } })] } });
    for (let turn = 1; turn <= 4; turn++) {
      const { answer } = await readFrom(client, getBranches, ofBank(alice));
      expect(answer).toEqual([branchOf({ location: { latitude: 1.5 } })]);
      expect(drifts).toEqual(Array(turn).fill('getBranches location.latitude'));
    }
  });
});

/** One call that was made, whose end the test decides. */
interface Made {
  readonly call: PreparedCall;
  readonly limits: CallLimits;
  readonly answer: (answer: string) => void;
  readonly fail: (error: BankqlError) => void;
}

const resultOf = (answer: unknown, bytes = 0): ReadResult => ({
  answer,
  trackId: null,
  bytes,
  status: 200,
  isValid: true,
});

const callOf = (authId: string, id: string, operation: typeof getCustomer | typeof putCustomerID) =>
  prepareCall('', operation, {
    ids: { bankId: 'B', customerId: id },
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId },
    body: undefined,
  } as Parameters<typeof prepareCall>[2]);

function sharing() {
  const made: Made[] = [];
  const reads = new Reads(
    { publicCacheTtlMs: 0, publicCacheBytes: 0, timeoutMs: 60_000 },
    (call, limits) =>
      new Promise((resolve, fail) => {
        made.push({ call, limits, answer: (answer) => resolve(resultOf(answer)), fail });
      }),
  );
  const read = async (operationDeadline: OperationDeadline | null = null, authId = 'a', id = 'c') => {
    const sources: SharedSource[] = [];
    const call = callOf(authId, id, getCustomer);
    const limits = { operationDeadline, onSource: (source: SharedSource) => void sources.push(source) };
    const { answer } = await reads.read(call, limits);
    return { answer, sources };
  };
  return { reads, made, read };
}

const within = (timeoutMs: number, signal?: AbortSignal) =>
  new OperationDeadline({ deadline: performance.now() + timeoutMs, signal });

test('a read that is cancelled fails no other; with the last one, the call is cancelled', async () => {
  const { made, read } = sharing();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const reads = [first, second, third].map(({ signal }) => read(within(1000, signal)));
  first.abort();
  await expect(reads[0]).rejects.toMatchObject({ reason: 'cancelled' });
  third.abort();
  await expect(reads[2]).rejects.toMatchObject({ reason: 'cancelled' });
  expect(made[0]?.limits.cancellation?.isCancelled).toBe(false);
  second.abort();
  await expect(reads[1]).rejects.toMatchObject({ reason: 'cancelled' });
  expect(made[0]?.limits.cancellation?.isCancelled).toBe(true);
  void read();
  expect(made).toHaveLength(2);
});

test('a read that is made again ends with its operation', async () => {
  const { made, read } = sharing();
  const operation = within(60_000);
  void read().catch(() => {});
  const joined = read(operation);
  made[0]?.fail(new BankqlError('FORBIDDEN', 'refused'));
  await expect.poll(() => made).toHaveLength(2);
  operation.cancel();
  await expect(joined).rejects.toMatchObject({ reason: 'cancelled' });
  expect(made[1]?.limits.cancellation?.isCancelled).toBe(true);
});

test('a read of an operation that has ended makes no call, neither at first nor again', async () => {
  const { made, read } = sharing();
  const operation = within(60_000);
  void read().catch(() => {});
  const joined = read(operation);
  made[0]?.fail(new BankqlError('FORBIDDEN', 'refused'));
  operation.cancel();
  await expect(joined).rejects.toMatchObject({ reason: 'cancelled' });
  await expect(read(operation)).rejects.toMatchObject({ reason: 'cancelled' });
  expect(made).toHaveLength(1);
});

test('an unavailable bank fails all that joined, without another call', async () => {
  const { made, read } = sharing();
  const reads = [read(), read(), read()];
  made[0]?.fail(new BankqlError('BANK_UNAVAILABLE', 'away'));
  for (const each of reads) await expect(each).rejects.toThrow('away');
  expect(made).toHaveLength(1);
});

test('many that joined a call settle a few at a time: the operation of each continues at once', async () => {
  const { made, read } = sharing();
  let answered = 0;
  const leaving = new AbortController();
  const asked = Array.from({ length: 20 }, (_, n) =>
    read(n === 19 ? within(60_000, leaving.signal) : null).then(() => answered++),
  );
  const left = expect(asked.pop()).rejects.toMatchObject({ reason: 'cancelled' });
  made[0]?.answer('answer');
  // The last one's client leaves before its turn.
  leaving.abort();
  const counts = new Set<number>();
  while (answered < 19) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.add(answered);
  }
  expect([...counts]).toEqual([8, 16, 19]);
  await left;
  await Promise.all(asked);
  expect(made).toHaveLength(1);
});

describe('the cache of public answers', () => {
  const maxBytes = 8 * 2 ** 20;

  /** Reads this text of as many banks as leave no room for all, and returns what the cache keeps of them. */
  async function fill(text: string) {
    let calls = 0;
    const reads = new Reads(
      { publicCacheTtlMs: 60_000, publicCacheBytes: maxBytes, timeoutMs: 60_000 },
      async () => {
        calls++;
        return resultOf(JSON.parse(text), text.length);
      },
    );
    const limits: ReadLimits = {};
    const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' };
    const read = (bankId: number) =>
      reads.read(prepareCall('', getBranches, { ids: { bankId: `${bankId}` }, credentials }), limits);
    await read(-1);
    const before = await keptMegabytes();
    const count = Math.ceil((1.5 * maxBytes) / (text.length + 500));
    for (let bankId = 0; bankId < count; bankId++) await read(bankId);
    const megabytes = (await keptMegabytes()) - before;
    calls = 0;
    await read(count - 1);
    expect(calls).toBe(0);
    await read(0);
    expect(calls).toBe(1);
    return megabytes;
  }

  test.each([
    ['the shortest records', { branches: Array.from({ length: 2000 }, (_, n) => ({ id: `${n}` })) }],
    ['no record', {}],
  ])('takes no more memory than it may: %s', async (_, answer) => {
    expect(await fill(JSON.stringify(answer))).toBeLessThan((maxBytes / 2 ** 20) * 1.05);
  });
});
