import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FairPool } from '../../src/bank/pool.ts';
import { createTestClient } from '../support/bank-client.ts';
import { answer, byLine, hang, lineOf, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { letPass, stopClock } from '../support/let-pass.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';
import { turns, until } from '../support/waits.ts';

const slow = sampleCalls.getCustomer;
const quick = sampleCalls.getMessagesOwner;
const limits = {
  timeoutMs: 30_000,
  connections: 16,
  connectionWaitMs: 1000,
  operationShare: 0.5,
  slowCallMs: 4000,
  breakerThreshold: 0,
};
/** All connections but the reserve. */
const mostOfOne = 14;

type Client = ReturnType<typeof createTestClient>;

/** Asks again and again, as so many callers at once, until it is told to stop. Counts the answers by their code. */
function load(client: Client, sample: SampleCall, callers: number, onRefused = () => {}) {
  const codes: Record<string, number> = {};
  let isOver = false;
  const one = async (nth: number) => {
    while (!isOver) {
      const credentials = { ...canaries, authId: `${sample.operation.id}-${nth}` };
      const code = await sample.run(client, credentials).then(
        () => 'good',
        (error: { readonly code?: string }) => error.code ?? String(error),
      );
      codes[code] = (codes[code] ?? 0) + 1;
      if (code === 'OVERLOADED') onRefused();
      await turns();
    }
  };
  const all = Promise.all(Array.from({ length: callers }, (_, nth) => one(nth)));
  return {
    codes,
    async end() {
      isOver = true;
      await all;
      return codes;
    },
  };
}

/**
 * How reads of another operation fare while one is asked for more often than the bank answers it: only once a call was
 * refused, if ever, which takes longer than a quick call does.
 */
async function beside(act: 'answers late' | 'hangs', operationShare: number, isWarm: boolean) {
  await using bank = await startFaultyBank();
  await using client = createTestClient(bank.url, { ...limits, operationShare });
  const held: Socket[] = [];
  let open = 0;
  let mostOpen = 0;
  const slowly = (socket: Socket) => {
    mostOpen = Math.max(mostOpen, ++open);
    held.push(socket);
    socket.on('close', () => open--);
  };
  const release = () => {
    if (act === 'hangs') return;
    for (const socket of held.splice(0)) {
      socket.removeAllListeners('close');
      open--;
      socket.write(answer(200, slow.reply));
    }
  };
  const acts = { '/customers/': reply(200, slow.reply), '/messages': reply(200, quick.reply) };
  bank.behave(byLine(bank, isWarm ? acts : { ...acts, '/customers/': slowly }));
  const isQuickRefused = operationShare === 1;
  const ofSlow = load(client, slow, 40, isQuickRefused ? undefined : release);
  const ofQuick = load(client, quick, 3, isQuickRefused ? release : undefined);
  if (isWarm) {
    await until(() => (ofSlow.codes.good ?? 0) > 40);
    bank.behave(byLine(bank, { ...acts, '/customers/': slowly }));
  }
  const [refused, other] = isQuickRefused ? [ofQuick, ofSlow] : [ofSlow, ofQuick];
  while (!refused.codes.OVERLOADED || (!isQuickRefused && (other.codes.good ?? 0) <= 10)) {
    letPass(50);
    const { good = 0 } = ofQuick.codes;
    // Quick calls get their answers within this time.
    await (isQuickRefused ? turns() : until(() => (ofQuick.codes.good ?? 0) >= good + 3));
  }
  const ends = [ofQuick.end(), ofSlow.end()];
  release();
  if (!isQuickRefused) await ends[0];
  // What still waits or hangs ends with the client.
  await client.close();
  await Promise.all(ends);
  return { ofSlow: ofSlow.codes, ofQuick: ofQuick.codes, mostOpen };
}

describe('an operation that is slower than others wait for a connection', () => {
  beforeEach(stopClock);

  test.each([
    ['answers late', 'from the start', false],
    ['answers late', 'after it was quick', true],
    ['hangs', 'from the start', false],
    ['hangs', 'after it was quick', true],
  ] as const)('(it %s, %s) has nobody else refused', async (act, _, isWarm) => {
    const { ofSlow, ofQuick, mostOpen } = await beside(act, 0.5, isWarm);
    expect(Object.keys(ofQuick)).toEqual(['good']);
    expect(ofSlow.OVERLOADED).toBeGreaterThan(0);
    // All but the reserve, in the moment in which it is not known to be slow.
    expect(mostOpen).toBeLessThanOrEqual(mostOfOne);
  });

  test('is not limited further where all others take as long', async () => {
    const held: Socket[] = [];
    await using bank = await startFaultyBank();
    // As slow as 300 ms are beside a BANK_SLOW_CALL_MS of 1,200: neither quick nor slow by itself.
    await using client = createTestClient(bank.url, {
      ...limits,
      connectionWaitMs: 20_000,
      slowCallMs: 1200,
    });
    const replies = { '/customers/': slow.reply, '/messages': quick.reply };
    bank.behave((socket) => void held.push(socket));
    for (let round = 0; round < 3; round++) {
      const asked = [
        ...Array.from({ length: mostOfOne - 1 }, (_, nth) =>
          slow.run(client, { ...canaries, authId: `${nth}` }),
        ),
        quick.run(client),
      ];
      // All of them are under way at once.
      await until(() => held.length === mostOfOne);
      letPass(300);
      const requests = bank.requests.splice(0);
      for (const [nth, socket] of held.splice(0).entries()) {
        const line = lineOf(requests[nth] ?? '');
        const [, text = ''] = Object.entries(replies).find(([path]) => line.includes(path)) ?? [];
        socket.write(answer(200, text));
      }
      await Promise.all(asked);
    }
  });

  test('has others refused where it may have all connections', async () => {
    const { mostOpen } = await beside('answers late', 1, false);
    expect(mostOpen).toBe(limits.connections);
  });

  test('has no other write and no payment refused', async () => {
    await using bank = await startFaultyBank(hang);
    await using client = createTestClient(bank.url, limits);
    const change = sampleCalls.putCustomerID;
    const payment = sampleCalls.postMakeTransaction;
    const acts = { 'PUT /v1/api/banks/SNDBCY2N/customers/': hang, 'make-transaction': reply(200, '{}') };
    bank.behave(byLine(bank, acts));
    const writes = load(client, change, 30);
    const changes = () => bank.requests.filter((request) => lineOf(request).includes('/customers/')).length;
    await until(() => changes() === mostOfOne);
    for (let nth = 0; nth < 20; nth++) expect((await payment.run(client)).answer).toBe('{}');
    expect(changes()).toBe(mostOfOne);
    while (!writes.codes.OVERLOADED) {
      letPass(50);
      await turns();
    }
    const ended = writes.end();
    await client.close();
    await ended;
  });
});

describe('a connection that comes free', () => {
  const quickMs = 100;
  const slowMs = 2000;
  const poolOf = (places: number, share = 0.5) => {
    let made = 0;
    const pool = new FairPool<number>(places, () => ++made, { share, quickMs, slowMs });
    const inside: string[] = [];
    const held = new Map<string, number[]>();
    const ask = (operation: string, caller = 'a') =>
      pool.acquire({
        caller: { name: caller, group: caller },
        operation,
        suits: null,
        onOverloaded() {},
        onAcquired(place) {
          inside.push(`${operation} ${caller}`);
          held.set(operation, [...(held.get(operation) ?? []), place]);
        },
      });
    const leave = (operation: string) => {
      const place = held.get(operation)?.shift();
      if (place === undefined) throw new Error(`${operation} holds none`);
      pool.release(place);
    };
    const askTimes = (count: number, operation: string) => {
      for (let nth = 0; nth < count; nth++) ask(operation);
    };
    return { pool, inside, ask, askTimes, leave };
  };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is one of all but the reserve, where an operation is quick and nobody else waits', () => {
    const { inside, askTimes } = poolOf(64);
    askTimes(64, 'x');
    expect(inside).toHaveLength(56);
  });

  test('is one of all but a quarter, where the operation has held one for too long', () => {
    const { inside, ask, askTimes } = poolOf(64);
    ask('y');
    ask('x');
    vi.advanceTimersByTime(quickMs + 1);
    askTimes(64, 'x');
    expect(inside).toHaveLength(48);
    askTimes(64, 'z');
    expect(inside).toHaveLength(64);
  });

  test('goes to others first that wait, until the operation that has held one for too long is at its share', () => {
    const { inside, ask, askTimes, leave } = poolOf(64);
    ask('y');
    ask('x');
    vi.advanceTimersByTime(quickMs + 1);
    askTimes(64, 'x');
    askTimes(64, 'z');
    for (let nth = 0; nth < 16; nth++) leave('x');
    expect(inside.slice(64)).toEqual([...Array.from({ length: 15 }, () => 'z a'), 'x a']);
  });

  test('is one of all but the reserve, where all operations take as long', () => {
    const { inside, ask, askTimes, leave } = poolOf(64);
    for (const operation of ['x', 'y', 'z']) ask(operation);
    vi.advanceTimersByTime(5 * quickMs);
    for (const operation of ['x', 'y', 'z']) leave(operation);
    askTimes(64, 'x');
    expect(inside).toHaveLength(3 + 56);
    vi.advanceTimersByTime(5 * quickMs);
    leave('x');
    expect(inside).toHaveLength(3 + 57);
  });

  test('is one of all but a quarter, where the operation takes four times as long as most others', () => {
    const { inside, ask, askTimes, leave } = poolOf(64);
    for (const operation of ['x', 'y', 'z', 'late']) ask(operation);
    vi.advanceTimersByTime(quickMs);
    for (const operation of ['y', 'z']) leave(operation);
    vi.advanceTimersByTime(3 * quickMs + 1);
    for (const operation of ['x', 'late']) leave(operation);
    askTimes(64, 'x');
    expect(inside).toHaveLength(4 + 48);
  });

  test('is one of all but a quarter, where the operation is slow whatever others take', () => {
    const { inside, ask, askTimes, leave } = poolOf(64);
    for (const operation of ['x', 'y']) ask(operation);
    vi.advanceTimersByTime(slowMs + 1);
    for (const operation of ['x', 'y']) leave(operation);
    askTimes(64, 'x');
    expect(inside).toHaveLength(2 + 48);
  });

  test('is one of all but the reserve, however slow the operation is, where no other was called lately', () => {
    const { inside, ask, askTimes, leave } = poolOf(64);
    ask('y');
    leave('y');
    ask('x');
    vi.advanceTimersByTime(9000);
    askTimes(64, 'x');
    expect(inside).toHaveLength(1 + 48);
    vi.advanceTimersByTime(1001);
    leave('x');
    expect(inside).toHaveLength(1 + 1 + 56);
    ask('y');
    expect(inside.at(-1)).toBe('y a');
    leave('x');
    expect(inside.at(-1)).toBe('y a');
  });

  test('is one of all but a quarter, where the operation’s last call took too long, until one does not', () => {
    const { inside, ask, askTimes, leave } = poolOf(8);
    ask('y');
    leave('y');
    ask('x');
    vi.advanceTimersByTime(quickMs + 1);
    leave('x');
    askTimes(9, 'x');
    expect(inside).toHaveLength(2 + 6);
    leave('x');
    expect(inside).toHaveLength(2 + 1 + 7);
  });

  test('goes to an operation below its share first, whoever’s turn it is', () => {
    const { inside, ask, askTimes, leave } = poolOf(2);
    askTimes(2, 'x');
    ask('x', 'b');
    ask('y', 'a');
    leave('x');
    expect(inside.slice(2)).toEqual(['y a']);
    leave('y');
    expect(inside.slice(3)).toEqual(['x b']);
  });

  test('goes to callers by turns, whatever operations they wait for', () => {
    const { inside, ask, leave } = poolOf(1, 1);
    ask('x', 'noisy');
    for (const operation of ['x', 'y', 'z', 'x', 'y']) ask(operation, 'noisy');
    ask('y', 'quiet');
    ask('x', 'quiet');
    for (let nth = 0; nth < 7; nth++) leave(inside.at(-1)?.split(' ')[0] ?? '');
    expect(inside.map((each) => each.split(' ')[1])).toEqual(
      'noisy quiet noisy quiet noisy noisy noisy noisy'.split(' '),
    );
  });

  test('is not kept from the only one who waits by the share of a single connection', () => {
    const { inside, ask, leave } = poolOf(1, 0.01);
    ask('x');
    ask('x');
    vi.advanceTimersByTime(quickMs + 1);
    leave('x');
    expect(inside).toEqual(['x a', 'x a']);
  });

  test('waits for nobody who gave up, in any operation', () => {
    const { pool, inside, ask, leave } = poolOf(1, 1);
    ask('x');
    const waits = [ask('y'), ask('x', 'b'), ask('y', 'c')];
    for (const wait of waits.slice(0, 2)) if (wait !== null && wait !== undefined) pool.cancel(wait);
    leave('x');
    leave('y');
    expect(inside).toEqual(['x a', 'y c']);
    ask('x', 'd');
    expect(inside.at(-1)).toBe('x d');
  });
});
