import { describe, expect, test } from 'vitest';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import { type ReadLimits, type ReadResult, Reads, type SharedSource } from '../../src/bank/reads.ts';
import { type PreparedCall, prepareCall } from '../../src/bank/request.ts';
import type { CallLimits } from '../../src/bank/transport.ts';
import { getBranches } from '../../src/contract/branch.ts';
import { getCustomer, putCustomerID } from '../../src/contract/customer.ts';
import { BankqlError } from '../../src/errors.ts';
import { keptMegabytes } from '../support/memory.ts';

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

test('a read joins the same read of the same caller in flight, and no other', async () => {
  const { made, read } = sharing();
  const asked = [read(), read(), read(null, 'a', 'other'), read(null, 'other')];
  for (const { answer } of made) answer('answer');
  expect(await Promise.all(asked)).toEqual([
    { answer: 'answer', sources: [] },
    { answer: 'answer', sources: ['joined'] },
    { answer: 'answer', sources: [] },
    { answer: 'answer', sources: [] },
  ]);
  expect(made).toHaveLength(3);
  void read();
  expect(made).toHaveLength(4);
});

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

test('a read with no time left fails, and the others wait on', async () => {
  const { made, read } = sharing();
  const hasty = read(within(10));
  const waiting = read(within(60_000));
  await expect(hasty).rejects.toMatchObject({ reason: 'timeout' });
  made[0]?.answer('answer');
  expect(await waiting).toEqual({ answer: 'answer', sources: ['joined'] });
});

test('a failure reaches the read that made the call; a read that joined calls again, alone', async () => {
  const { made, read } = sharing();
  const [started, joined] = [read(), read()];
  made[0]?.fail(new BankqlError('FORBIDDEN', 'refused'));
  await expect(started).rejects.toThrow('refused');
  await expect.poll(() => made).toHaveLength(2);
  made[1]?.answer('its own');
  expect(await joined).toEqual({ answer: 'its own', sources: [] });
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

test('after a write, an earlier call is not joined, and is answered all the same', async () => {
  const { reads, made, read } = sharing();
  const early = read();
  reads.invalidate(callOf('a', 'c', putCustomerID));
  const late = read();
  made[0]?.answer('old');
  made[1]?.answer('new');
  expect([await early, await late]).toEqual([
    { answer: 'old', sources: [] },
    { answer: 'new', sources: [] },
  ]);
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
    const count = Math.ceil((3 * maxBytes) / (text.length + 500));
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
