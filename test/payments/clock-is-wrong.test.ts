import { describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { createTestBankql, testLeaseMs } from '../support/bankql.ts';
import { clock } from '../support/monotonic-clock.ts';
import { accept, hold, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';

const hour = 60 * 60 * 1000;
const retentionMs = 30 * 24 * hour;

/** Two processes with one database. The test sets the clock of each. */
async function setUp() {
  const bank = await startPaymentBank();
  const clocks = { database: Date.now(), one: Date.now(), other: Date.now() };
  const opened = createMemoryStore({ retentionMs, now: () => clocks.database });
  const hooks = { whenStored: async () => {} };
  const store: PaymentStore = {
    ...opened,
    async begin(record, leaseMs) {
      const earlier = await opened.begin(record, leaseMs);
      if (earlier === null) await hooks.whenStored();
      return earlier;
    },
  };
  const replica = (whose: 'one' | 'other') =>
    createTestBankql({ bankUrl: bank.url, store, now: () => clocks[whose] });
  const replicas = { one: await replica('one'), other: await replica('other') };
  onTestFinished(async () => {
    clock.now = clock.real;
    for (const each of Object.values(replicas)) await each[Symbol.asyncDispose]();
    await opened.close();
    await bank.close();
  });
  const ask = (whose: keyof typeof replicas = 'one') => pay(replicas[whose], transfer('key'));
  const move = (by: number, ...whose: (keyof typeof clocks)[]) => {
    for (const each of whose) clocks[each] += by;
  };
  return { bank, hooks, ask, move };
}
const all = ['database', 'one', 'other'] as const;

describe.each([hour, -hour, 0])('a clock that moves by %i ms between the start and the answer', (first) => {
  test.each([hour, -hour, 0])('and by %i ms after it sends nothing again', async (second) => {
    const { bank, ask, move } = await setUp();
    const held = hold(bank);
    const asked = ask();
    await held.arrived;
    move(first, ...all);
    // The answer to the other request depends on the clock. The number of payments that are sent does not.
    expect((await ask('other')).code).toBe(first > 0 ? 'OUTCOME_UNKNOWN' : 'IDEMPOTENCY_IN_PROGRESS');
    held.answer();
    const told = await asked;
    const trackId = bank.payments[0]?.trackId;
    expect(told).toMatchObject({ code: 'DONE', replayed: false, trackId });
    move(second, ...all);
    for (const whose of ['one', 'other'] as const)
      expect(await ask(whose)).toMatchObject({ code: 'DONE', replayed: true, trackId });
    expect(bank.payments).toHaveLength(1);
  });
});

test.each([hour, -hour])(
  'a process whose clock differs by %i ms ends no lease, and sends nothing again',
  async (by) => {
    const { bank, ask, move } = await setUp();
    move(by, 'other');
    const held = hold(bank);
    const asked = ask();
    await held.arrived;
    expect((await ask('other')).code).toBe('IDEMPOTENCY_IN_PROGRESS');
    held.answer();
    const { trackId } = await asked;
    expect(await ask('other')).toMatchObject({ code: 'DONE', replayed: true, trackId });
    expect(bank.payments).toHaveLength(1);
  },
);

test('an answer that comes after the lease is the truth, for its client and for the record', async () => {
  const { bank, ask, move } = await setUp();
  const held = hold(bank);
  const asked = ask();
  await held.arrived;
  move(testLeaseMs, 'database');
  const trackId = bank.payments[0]?.trackId;
  for (const whose of ['other', 'one'] as const)
    expect(await ask(whose)).toMatchObject({ code: 'OUTCOME_UNKNOWN', replayed: false, trackId });
  held.answer();
  expect(await asked).toMatchObject({ code: 'DONE', replayed: false, trackId });
  expect(await ask('other')).toMatchObject({ code: 'DONE', replayed: true, trackId });
  expect(bank.payments).toHaveLength(1);
});

describe('a process that was suspended until after its lease', () => {
  test('does not begin to send, and its key is used up if a client was informed that it may have been sent', async () => {
    const { bank, hooks, ask, move } = await setUp();
    const told: Told[] = [];
    hooks.whenStored = async () => {
      move(testLeaseMs, ...all);
      told.push(await ask('other'));
    };
    const late = await ask();
    // In the meantime, a client may have learned that the bank has no such payment, and have paid in another way.
    expect(told).toMatchObject([{ code: 'OUTCOME_UNKNOWN' }]);
    expect(late).toMatchObject({
      code: 'BANK_TIMEOUT',
      message: expect.stringContaining('nothing was sent'),
    });
    for (const whose of ['other', 'one'] as const)
      expect(await ask(whose)).toMatchObject({ code: 'BANK_REJECTED', trackId: told[0]?.trackId });
    expect(bank.payments).toEqual([]);
  });

  test.each<[string, (move: (by: number, ...whose: (typeof all)[number][]) => void) => void]>([
    ['by the wall clock alone: its machine was suspended', (move) => move(testLeaseMs, 'one')],
    [
      'by the clock that cannot be set, although the wall clock was set back',
      (move) => {
        clock.now = () => clock.real() + testLeaseMs;
        move(-hour, 'one');
      },
    ],
    ['in part: the sending would outlast the lease', (move) => move(testLeaseMs / 2 + 1, 'one')],
  ])('does not begin to send, %s', async (_, suspend) => {
    const { bank, hooks, ask, move } = await setUp();
    hooks.whenStored = async () => suspend(move);
    expect((await ask()).code).toBe('BANK_TIMEOUT');
    expect(bank.payments).toEqual([]);
    clock.now = clock.real;
    hooks.whenStored = async () => {};
    // There was no request in the meantime, so the key is free.
    expect(await ask('other')).toMatchObject({ code: 'DONE', replayed: false });
    expect(bank.payments).toHaveLength(1);
  });
});

test('an unknown outcome stays unknown, however long ago it was', async () => {
  const { bank, ask, move } = await setUp();
  bank.decide = () => (socket) => void socket.resetAndDestroy();
  const told = await ask();
  expect(told.code).toBe('OUTCOME_UNKNOWN');
  bank.decide = accept;
  move(10 * 365 * 24 * hour, 'database');
  expect(await ask('other')).toEqual(told);
  expect(bank.payments).toHaveLength(1);
});
