import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Call } from '../../src/bank/call.ts';
import { type BankClient, type BankOptions, createBankClient } from '../../src/bank/client.ts';
import { type Credentials, requestCredentials } from '../../src/bank/credentials.ts';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { type ReadLimits, SharedReads } from '../../src/bank/shared-reads.ts';
import { getBranches, postBranches, putBranchID } from '../../src/contract/branch.ts';
import { getCustomer, putCustomerID } from '../../src/contract/customer.ts';
import type { BankqlError } from '../../src/errors.ts';
import { Callers } from '../../src/load/callers.ts';
import { slices } from '../../src/load/slices.ts';
import { readFrom } from '../support/bank-client.ts';
import { bankDefaults } from '../support/bankql.ts';
import { controllerOf, targetOver } from '../support/call-target.ts';
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

/** Holds the bank's answers until they are released. */
function held(reply: object) {
  const { promise, resolve } = Promise.withResolvers<void>();
  bank.otherwise(async () => {
    await promise;
    return reply;
  });
  return resolve;
}

/** Waits until this number of calls has arrived. */
const arrived = (count: number) => expect.poll(() => bank.calls.length).toBe(count);

describe('private reads', () => {
  test.each([
    ['404', { status: 404, body: {} }, 'NOT_FOUND'],
    ['403', { status: 403, body: {} }, 'FORBIDDEN'],
    ['500', { status: 500, body: {} }, 'BANK_ERROR'],
    ['an answer that cannot be read', { body: '{"oops":' }, 'BANK_BAD_RESPONSE'],
  ])('that join a call which ends with %s are one call, and share its end', async (_, reply, code) => {
    const request = new AsyncLocalStorage<number>();
    const reported: (number | undefined)[] = [];
    const client = clientWith({ onCall: () => void reported.push(request.getStore()) });
    const answer = held(reply);
    const read = () =>
      readFrom(client, getCustomer, ofCustomer(alice)).catch((error) => [request.getStore(), error]);
    const reads = Array.from({ length: 40 }, (_, nth) => request.run(nth, read));
    await arrived(1);
    answer();
    const ends = (await Promise.all(reads)) as [number, BankqlError][];
    expect(ends.map(([nth]) => nth)).toEqual(Array.from({ length: 40 }, (_, nth) => nth));
    expect(new Set(ends.map(([, error]) => error)).size).toBe(1);
    expect(ends[0]?.[1].code).toBe(code);
    expect(bank.calls).toHaveLength(1);
    // The call is reported for the request that began it.
    expect(reported).toEqual([0]);
  });

  test('that join a call which hangs are one call, however many join it; later ones make a new one', async () => {
    const client = clientWith({ timeoutMs: 1_000 });
    bank.otherwise(() => 'hang');
    const read = () => readFrom(client, getCustomer, ofCustomer(alice)).catch(({ code }) => code);
    const reads = Array.from({ length: 20 }, read);
    await arrived(1);
    await lateBy(500);
    reads.push(...Array.from({ length: 20 }, read));
    // A read that begins to share a call late still waits for its own full time. No read begins to share a call whose time
    // is used up.
    await reads[0];
    bank.otherwise({ body: { email: 'a@b' } });
    const after = readFrom(client, getCustomer, ofCustomer(alice));
    expect(await Promise.all(reads)).toEqual(Array(40).fill('BANK_TIMEOUT'));
    expect((await after).answer.email).toBe('a@b');
    expect(bank.calls).toHaveLength(2);
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
    // The bank was late; no client had left.
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
    ['accepted it', { body: branchOf() }, true],
    ['failed at it', { status: 500, body: {} }, true],
    ['did not say what it did', 'reset', true],
    ['refused it with 401', { status: 401, body: {} }, false],
    ['refused it with 403', { status: 403, body: {} }, false],
    ['refused it with 404', { status: 404, body: {} }, false],
    ['was not asked, since the input was wrong', null, false],
    ['was not reached', 'closed', false],
  ] as const)(
    'after a write are read again only if it may have changed something: the bank %s',
    async (_, reply, isEmptied) => {
      const client = clientWith();
      bank.otherwise(branches);
      await readFrom(client, getBranches, ofBank(alice));
      const line = 'PUT /v1/api/banks/B/branches/b';
      if (reply !== null && reply !== 'closed') bank.on(line, () => reply);
      if (reply === 'closed') await client.close();
      const ids = { bankId: 'B', branchId: reply === null ? '../b' : 'b' };
      const write = client.write(putBranchID, { ids, body: { acceptsDeposits: true }, credentials: alice });
      await write.catch(() => {});
      const written = bank.lines().filter((each) => each === line).length;
      expect(written).toBe(reply === null || reply === 'closed' ? 0 : 1);
      await readFrom(client, getBranches, ofBank(alice));
      expect(bank.calls).toHaveLength(1 + written + (isEmptied ? 1 : 0));
    },
  );

  test('that began during a write are not kept, whatever it did', async () => {
    const client = clientWith();
    const release = held(branches);
    const write = client.write(putBranchID, {
      ids: { bankId: 'B', branchId: 'b' },
      body: { acceptsDeposits: true },
      credentials: alice,
    });
    await arrived(1);
    const during = readFrom(client, getBranches, ofBank(alice));
    await arrived(2);
    bank.on('PUT /v1/api/banks/B/branches/b', { body: branchOf() });
    release();
    await Promise.allSettled([write, during]);
    bank.otherwise(branches);
    await readFrom(client, getBranches, ofBank(alice));
    expect(bank.calls).toHaveLength(3);
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
    // An operation that has ended has no memory left in its budget.
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

  test('fails only the reader whose budget is exceeded', async () => {
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

  test('is not read to its end if it leaves no memory for others; short answers are always read', async () => {
    const client = clientWith({ publicCacheTtlMs: 0, arrivingBytes: 1_000_000 });
    bank.otherwise(({ path }) => ({ body: path.endsWith('/branches') ? long('a') : { email: 'a@b' } }));
    await expect(read(client, {})).rejects.toMatchObject({ code: 'OVERLOADED' });
    // The memory that the refused answer held is free again.
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
    // In this test, no work may run at once.
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

  test('drifts in every record are counted once for a field, and are interpreted in slices', async () => {
    const drifts: string[] = [];
    const client = clientWith({
      publicCacheTtlMs: 0,
      onDrift: ({ operation, field }) => void drifts.push(`${operation} ${field}`),
    });
    const count = 500;
    const drifting = { location: { latitude: '1.5', longitude: '2.5' } };
    bank.otherwise({ body: { branches: Array.from({ length: count }, () => branchOf(drifting)) } });
    // The time is used up after every hundredth record.
    let asked = 0;
    const hasTime = vi.spyOn(slices, 'hasTime', 'get').mockImplementation(() => ++asked % 100 !== 0);
    const wait = vi.spyOn(slices, 'wait').mockResolvedValue();
    onTestFinished(() => {
      wait.mockRestore();
      hasTime.mockRestore();
    });
    const { answer } = await readFrom(client, getBranches, ofBank(alice));
    expect(answer).toEqual(Array(count).fill(branchOf({ location: { latitude: 1.5, longitude: 2.5 } })));
    expect(drifts.toSorted()).toEqual(['getBranches location.latitude', 'getBranches location.longitude']);
    expect(wait.mock.calls.length).toBeGreaterThanOrEqual(4);
  });

  test('an answer that is not plain is interpreted no further if its readers have left', async () => {
    const drifts: string[] = [];
    const client = clientWith({ publicCacheTtlMs: 0, onDrift: ({ field }) => void drifts.push(field) });
    bank.otherwise({ body: { branches: [1, 2, 3].map(() => branchOf({ location: { latitude: '1.5' } })) } });
    const operationDeadline = new OperationDeadline();
    const hasTime = vi.spyOn(slices, 'hasTime', 'get').mockReturnValue(false);
    const { promise: time, resolve: giveTime } = Promise.withResolvers<void>();
    const wait = vi.spyOn(slices, 'wait').mockReturnValue(time);
    onTestFinished(() => {
      wait.mockRestore();
      hasTime.mockRestore();
    });
    const left = readFrom(client, getBranches, ofBank(alice), { operationDeadline });
    await until(() => wait.mock.calls.length === 1);
    operationDeadline.cancel();
    await expect(left).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
    giveTime();
    await new Promise((resolve) => setImmediate(resolve));
    expect([drifts, wait.mock.calls.length]).toEqual([[], 1]);
  });
});

const within = (timeoutMs: number, signal?: AbortSignal) =>
  new OperationDeadline({ deadline: performance.now() + timeoutMs, signal });

describe('the readers of one call', () => {
  const read = (client: BankClient, operationDeadline: OperationDeadline | null = null) =>
    readFrom(client, getCustomer, ofCustomer(alice), { operationDeadline });

  test('fail no other if they leave; with the last one, the call ends', async () => {
    const reports: CallReport[] = [];
    const client = clientWith({ onCall: (report) => reports.push(report) });
    const answer = held({ body: {} });
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    const left = { cause: { reason: 'cancelled' } };
    const reads = [first, second, third].map(({ signal }) => read(client, within(60_000, signal)));
    await arrived(1);
    first.abort();
    await expect(reads[0]).rejects.toMatchObject(left);
    third.abort();
    await expect(reads[2]).rejects.toMatchObject(left);
    expect(reports).toEqual([]);
    second.abort();
    await expect(reads[1]).rejects.toMatchObject(left);
    expect(reports).toMatchObject([{ reason: 'cancelled' }]);
    const again = read(client);
    await arrived(2);
    answer();
    await again;
  });

  test('of an operation that has ended are none: no call is made', async () => {
    const client = clientWith();
    const operation = within(60_000);
    operation.cancel();
    bank.otherwise({ body: {} });
    await expect(read(client, operation)).rejects.toMatchObject({
      cause: { reason: 'cancelled', sent: false },
    });
    await readFrom(client, getCustomer, ofCustomer(alice, 'other'));
    expect(bank.calls).toHaveLength(1);
  });

  test('whose operation has less time than the call give up alone', async () => {
    const client = clientWith();
    const answer = held({ body: { email: 'a@b' } });
    const hasty = read(client, within(300));
    const patient = read(client, within(60_000));
    await arrived(1);
    await expect(hasty).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
    answer();
    expect((await patient).answer.email).toBe('a@b');
    expect(bank.calls).toHaveLength(1);
  });

  test('continue a few at a time: the operation of each continues at once', async () => {
    const client = clientWith();
    const answer = held({ body: {} });
    let answered = 0;
    const leaving = new AbortController();
    const reads = Array.from({ length: 20 }, (_, nth) =>
      read(client, nth === 19 ? within(60_000, leaving.signal) : null).then(() => answered++),
    );
    const left = expect(reads.pop()).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
    await arrived(1);
    answer();
    const counts = new Set<number>();
    while (answered < 19) {
      await new Promise((resolve) => setImmediate(resolve));
      // The client of the last read leaves before its turn.
      if (answered > 0) leaving.abort();
      if (answered > 0) counts.add(answered);
    }
    expect([...counts]).toEqual([8, 16, 19]);
    await left;
    await Promise.all(reads);
    expect(bank.calls).toHaveLength(1);
  });
});

test('a call that has ended keeps neither its request nor its answer', async () => {
  const reads = new SharedReads({ publicCacheTtlMs: 0, publicCacheBytes: 0, timeoutMs: 60_000 });
  const kept: WeakRef<object>[] = [];
  const target = targetOver(getBranches, reads, (handler) => {
    const controller = controllerOf();
    kept.push(new WeakRef(controller));
    handler.onRequestStart?.(controller, null);
    handler.onResponseStart?.(controller, 200, { 'content-type': 'application/json' }, '');
    handler.onResponseData?.(controller, Buffer.from(JSON.stringify(branches.body)));
    handler.onResponseEnd?.(controller, {});
  });
  const call = new Call(target, requestCredentials(alice, new Callers()), '/B', null, false);
  const read = async () => void kept.push(new WeakRef(await reads.read(call, {}, 'answer')));
  await read();
  await keptMegabytes();
  expect(kept.map((each) => each.deref())).toEqual([undefined, undefined]);
  expect(call.isOver).toBe(true);
});

describe('the cache of public answers', () => {
  const maxBytes = 8 * 2 ** 20;

  /** Reads this text from more banks than the cache can keep, and returns the banks that it keeps. */
  async function fill(text: string) {
    let calls = 0;
    const reads = new SharedReads({
      publicCacheTtlMs: 60_000,
      publicCacheBytes: maxBytes,
      timeoutMs: 60_000,
    });
    const target = targetOver(getBranches, reads, (handler) => {
      calls++;
      const controller = controllerOf();
      handler.onRequestStart?.(controller, null);
      handler.onResponseStart?.(controller, 200, { 'content-type': 'application/json' }, '');
      handler.onResponseData?.(controller, Buffer.from(text));
      handler.onResponseEnd?.(controller, {});
    });
    const credentials = requestCredentials(alice, new Callers());
    const read = (bankId: number) =>
      reads.read(new Call(target, credentials, `/${bankId}`, null, false), {}, 'answer');
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
    ['the shortest records', { branches: Array.from({ length: 2000 }, (_, n) => branchOf({ id: `${n}` })) }],
    ['no record', {}],
  ])('takes no more memory than it may: %s', async (_, answer) => {
    expect(await fill(JSON.stringify(answer))).toBeLessThan((maxBytes / 2 ** 20) * 1.05);
  });
});
