import { describe, expect, test } from 'vitest';
import { OperationDeadline } from '../../src/bank/deadline.ts';
import type { Reader, ReadResult } from '../../src/bank/parsed-responses.ts';
import { type PreparedCall, prepareCall } from '../../src/bank/request.ts';
import { SharedReads, type SharedSource } from '../../src/bank/shared-reads.ts';
import type { CallLimits } from '../../src/bank/transport.ts';
import { getBranches } from '../../src/contract/branch.ts';
import { getCustomer, putCustomerID } from '../../src/contract/customer.ts';
import { BankqlError } from '../../src/errors.ts';
import { collectYoung, keptMegabytes } from '../support/memory.ts';

/** One call that was made, whose end the test decides. */
interface Made {
  readonly call: PreparedCall;
  readonly limits: CallLimits;
  readonly reader: Reader;
}

const resultOf = (answer: string): ReadResult => ({
  answer,
  trackId: null,
  bytes: answer.length,
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
  const shared = new SharedReads(
    { publicCacheTtlMs: 0, publicCacheBytes: 0, timeoutMs: 60_000 },
    (call, limits, reader) => void made.push({ call, limits, reader }),
  );
  const read = (operationDeadline: OperationDeadline | null = null, authId = 'a', id = 'c') => {
    const sources: SharedSource[] = [];
    const call = callOf(authId, id, getCustomer);
    const limits = { operationDeadline, onSource: (source: SharedSource) => void sources.push(source) };
    return new Promise<{ answer: unknown; sources: readonly SharedSource[] }>((resolve, reject) => {
      shared.read(call, limits, {
        onAnswer: ({ answer }) => resolve({ answer, sources }),
        onError: reject,
      });
    });
  };
  return { shared, made, read };
}

const within = (timeoutMs: number, signal?: AbortSignal) =>
  new OperationDeadline({ deadline: performance.now() + timeoutMs, signal });

test('a read joins the same read of the same caller in flight, and no other', async () => {
  const { made, read } = sharing();
  const asked = [read(), read(), read(null, 'a', 'other'), read(null, 'other')];
  for (const { reader } of made) reader.onAnswer(resultOf('answer'));
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
  await expect(reads[0]).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
  third.abort();
  await expect(reads[2]).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
  expect(made[0]?.limits.cancellation?.isCancelled).toBe(false);
  second.abort();
  await expect(reads[1]).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
  expect(made[0]?.limits.cancellation?.isCancelled).toBe(true);
  void read();
  expect(made).toHaveLength(2);
});

test('a read with no time left fails, and the others wait on', async () => {
  const { made, read } = sharing();
  const hasty = read(within(10));
  const waiting = read(within(60_000));
  await expect(hasty).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  made[0]?.reader.onAnswer(resultOf('answer'));
  expect(await waiting).toEqual({ answer: 'answer', sources: ['joined'] });
});

test('a failure reaches the read that made the call; a read that joined calls again, alone', async () => {
  const { made, read } = sharing();
  const [started, joined] = [read(), read()];
  made[0]?.reader.onError(new BankqlError('FORBIDDEN', 'refused'));
  await expect(started).rejects.toThrow('refused');
  expect(made).toHaveLength(2);
  made[1]?.reader.onAnswer(resultOf('its own'));
  expect(await joined).toEqual({ answer: 'its own', sources: [] });
});

test('an unavailable bank fails all that joined, without another call', async () => {
  const { made, read } = sharing();
  const reads = [read(), read(), read()];
  made[0]?.reader.onError(new BankqlError('BANK_UNAVAILABLE', 'away'));
  for (const each of reads) await expect(each).rejects.toThrow('away');
  expect(made).toHaveLength(1);
});

test('after a write, an earlier call is not joined, and is answered all the same', async () => {
  const { shared, made, read } = sharing();
  const early = read();
  shared.invalidate(callOf('a', 'c', putCustomerID));
  const late = read();
  made[0]?.reader.onAnswer(resultOf('old'));
  made[1]?.reader.onAnswer(resultOf('new'));
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
  const left = expect(asked.pop()).rejects.toMatchObject({ cause: { reason: 'cancelled' } });
  made[0]?.reader.onAnswer(resultOf('answer'));
  // The last one's client leaves before its turn.
  leaving.abort();
  const counts = new Set<number>();
  while (answered < 19) {
    await new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
    counts.add(answered);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // The call's own read, and eight of those that joined.
  expect([...counts.add(answered)]).toEqual([9, 17, 19]);
  await left;
  await Promise.all(asked);
  expect(made).toHaveLength(1);
});

test('what a settled read held is collected as young garbage, though others are in flight all the time', async () => {
  const { shared, made } = sharing();
  const heldMegabytes = 1 / 64;
  const settle = () => made.shift()?.reader.onAnswer(resultOf('answer'));
  const nobody: Reader = { onAnswer() {}, onError() {} };
  const read = (caller: number) => {
    const held = new Array(heldMegabytes * 2 ** 17).fill(caller);
    const credentials = { subscriptionKey: `key-${caller}`, authProviderName: 'p', authId: 'a' };
    const call = prepareCall('', getBranches, { ids: { bankId: 'B' }, credentials });
    shared.read(call, { onSource: () => void held.pop() }, nobody);
    if (made.length > 32) settle();
  };
  for (let caller = 0; caller < 200; caller++) read(caller);
  // From now on, the reads that are in flight and the Map's table are old.
  await keptMegabytes();
  const before = process.memoryUsage().heapUsed;
  for (let caller = 200; caller < 2200; caller++) {
    read(caller);
    if (caller % 200 === 0) collectYoung();
  }
  while (made.length > 0) settle();
  for (let round = 0; round < 3; round++) collectYoung();
  // The reads held 31 MB in all, and those in flight at a collection half a megabyte.
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(8);
});

describe('a shared answer', () => {
  /** Public data of a call, and what parses it when its turn has come. */
  function answered() {
    const { shared, made } = sharing();
    let parsed = 0;
    return {
      /** A caller asks; its operation has a turn when the test says so. */
      ask(name: string) {
        const identity = { name, group: name };
        const credentials = { subscriptionKey: 'k', authProviderName: 'p', authId: name, identity };
        const call = prepareCall('', getBranches, { ids: { bankId: 'B' }, credentials });
        const turns: (() => void)[] = [];
        const readBudget = {
          keep: () => true,
          run: (_bytes: number, work: () => void) => void turns.push(work),
        };
        const answer = new Promise<unknown>((resolve, reject) => {
          shared.read(call, { readBudget }, { onAnswer: ({ answer }) => resolve(answer), onError: reject });
        });
        return { turns, answer };
      },
      /** The answer arrives. */
      arrive() {
        const [{ limits, reader } = {}] = made;
        const body = Buffer.alloc(10_000_000);
        limits?.run(body.length, () => {
          parsed++;
          reader?.onAnswer(resultOf(`${body.length} bytes`));
        });
        return new WeakRef(body);
      },
      parsed: () => parsed,
      calls: () => made.length,
    };
  }

  test.each([true, false])(
    'is parsed in the first turn of all that wait for it, once (joined before: %s)',
    async (joinsBefore) => {
      const { ask, arrive, parsed, calls } = answered();
      const first = ask('busy');
      if (!joinsBefore) arrive();
      const joined = [ask('busy'), ask('other')];
      if (joinsBefore) arrive();
      const all = [first, ...joined];
      expect(calls()).toBe(1);
      // Operations of one caller have the same turns: one of them is enough.
      expect(all.map(({ turns }) => turns.length)).toEqual([1, 0, 1]);
      joined[1]?.turns[0]?.();
      for (const { answer } of all) expect(await answer).toBe('10000000 bytes');
      first.turns[0]?.();
      expect(parsed()).toBe(1);
    },
  );

  test('is not kept by turns that come after it was parsed', async () => {
    const { ask, arrive } = answered();
    const [first, late] = [ask('first'), ask('late')];
    const body = arrive();
    first.turns[0]?.();
    await Promise.all([first.answer, late.answer]);
    first.turns.length = 0;
    await keptMegabytes();
    expect(late.turns).toHaveLength(1);
    expect(body.deref()).toBeUndefined();
  });
});
