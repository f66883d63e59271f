import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { leaseMarginMs } from '../../src/payments/service.ts';
import type { PaymentStore } from '../../src/payments/store.ts';
import { longestLeaseMs } from '../../src/payments/store-clock.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { openStore } from '../../src/payments/stores/open-store.ts';
import { createTestBankql, testLeaseMs } from '../support/bankql.ts';
import { clock } from '../support/monotonic-clock.ts';
import { accept, hold, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';
import { sharedStates } from '../support/payment-states.ts';

const hour = 60 * 60 * 1000;
const retentionMs = 30 * 24 * hour;
const leaseOver = testLeaseMs + 1_000;

test('the configuration allows no lease that outlasts the time for which a skip of the clock does not count', () => {
  const BANK_TRANSFER_TIMEOUT_MS = String(longestLeaseMs - leaseMarginMs + 1);
  expect(() => readConfig({ BANK_TRANSFER_TIMEOUT_MS })).toThrow('BANK_TRANSFER_TIMEOUT_MS');
});

interface OpenedStores extends AsyncDisposable {
  readonly open: () => Promise<PaymentStore>;
}

const kinds: readonly { name: string; start: () => Promise<OpenedStores> }[] = [
  {
    name: 'memory',
    start: async () => ({
      open: async () => await createMemoryStore({ retentionMs }),
      [Symbol.asyncDispose]: async () => {},
    }),
  },
  ...sharedStates.map(({ name, start }) => ({
    name,
    async start() {
      const state = await start();
      return {
        open: () => openStore(state.url, { timeoutMs: 60_000, retentionMs }),
        [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
      };
    },
  })),
];

describe.each(kinds)('over a store in $name', ({ start }) => {
  // One server for all: each test pays with a key of its own.
  let stores: OpenedStores;
  let payments = 0;
  beforeAll(async () => {
    stores = await start();
  });
  afterAll(() => stores[Symbol.asyncDispose]());

  /** Two processes' worth of bankql over one store, each with a clock that the test moves. */
  async function setUp() {
    const bank = await startPaymentBank();
    const key = `clock-${++payments}`;
    const opened = await stores.open();
    const hooks = { whenStored: async () => {} };
    const store: PaymentStore = {
      ...opened,
      async begin(record, now) {
        const earlier = await opened.begin(record, now);
        if (earlier === null) await hooks.whenStored();
        return earlier;
      },
    };
    const clocks = [Date.now(), Date.now()];
    const replica = (n: 0 | 1) => createTestBankql({ bankUrl: bank.url, store, now: () => clocks[n] ?? 0 });
    const replicas = [await replica(0), await replica(1)] as const;
    onTestFinished(async () => {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
      await opened.close();
      await bank.close();
    });
    const ask = (n: 0 | 1 = 0) => pay(replicas[n], transfer(key));
    const move = (by: number, ...moved: (0 | 1)[]) => {
      for (const n of moved.length === 0 ? [0, 1] : moved) clocks[n] = (clocks[n] ?? 0) + by;
    };
    return { bank, hooks, ask, move };
  }

  describe.each([hour, -hour, 0])('a clock that moves by %i ms between the start and the answer', (first) => {
    test.each([hour, -hour, 0])('and by %i ms after it sends nothing again', async (second) => {
      const { bank, ask, move } = await setUp();
      const held = hold(bank);
      const asked = ask();
      await held.arrived;
      move(first);
      // The answer to whoever asks meanwhile depends on the clock; what is sent does not.
      expect((await ask(1)).code).toBe(first > 0 ? 'OUTCOME_UNKNOWN' : 'IDEMPOTENCY_IN_PROGRESS');
      held.answer();
      const told = await asked;
      const trackId = bank.payments[0]?.trackId;
      expect(told).toMatchObject({ code: 'DONE', replayed: false, trackId });
      move(second);
      for (const replica of [0, 1] as const) {
        expect(await ask(replica)).toMatchObject({ code: 'DONE', replayed: true, trackId });
      }
      expect(bank.payments).toHaveLength(1);
    });
  });

  test.each([hour, -hour])('a replica whose clock differs by %i ms sends nothing again', async (by) => {
    const { bank, ask, move } = await setUp();
    move(by, 1);
    const held = hold(bank);
    const asked = ask(0);
    await held.arrived;
    await ask(1);
    held.answer();
    const { trackId } = await asked;
    for (const replica of [1, 0, 1] as const) {
      expect(await ask(replica)).toMatchObject({ code: 'DONE', replayed: true, trackId });
    }
    expect(bank.payments).toHaveLength(1);
  });

  test('an answer that comes after the lease is the truth, for its client and for the record', async () => {
    const { bank, ask, move } = await setUp();
    const held = hold(bank);
    const asked = ask();
    await held.arrived;
    expect((await ask(1)).code).toBe('IDEMPOTENCY_IN_PROGRESS');
    move(leaseOver);
    const trackId = bank.payments[0]?.trackId;
    for (const replica of [1, 0] as const) {
      expect(await ask(replica)).toMatchObject({ code: 'OUTCOME_UNKNOWN', replayed: false, trackId });
    }
    held.answer();
    expect(await asked).toMatchObject({ code: 'DONE', replayed: false, trackId });
    for (const replica of [1, 0] as const) {
      expect(await ask(replica)).toMatchObject({ code: 'DONE', replayed: true, trackId });
    }
    expect(bank.payments).toHaveLength(1);
  });

  test('a process that was asleep until its lease had ended does not begin to send', async () => {
    const { bank, hooks, ask, move } = await setUp();
    const told: Told[] = [];
    hooks.whenStored = async () => {
      move(leaseOver);
      told.push(await ask(1));
    };
    const late = await ask(0);
    // Whoever was told this may have heard from the bank that there was no such payment, and paid in another way.
    expect(told).toMatchObject([{ code: 'OUTCOME_UNKNOWN' }]);
    expect(bank.payments).toEqual([]);
    expect(late).toMatchObject({
      code: 'BANK_TIMEOUT',
      message: expect.stringContaining('nothing was sent'),
    });
    // The key is used up, and its answer says why.
    expect(await ask(1)).toMatchObject({
      code: 'BANK_REJECTED',
      trackId: told[0]?.trackId,
      message: expect.stringContaining('was not executed, and is never sent under this idempotency key'),
    });
    expect(await ask(0)).toMatchObject({ code: 'BANK_REJECTED' });
    expect(bank.payments).toEqual([]);
  });

  test('nor does it if its clock was set back meanwhile', async () => {
    const { bank, hooks, ask, move } = await setUp();
    onTestFinished(() => {
      clock.now = clock.real;
    });
    hooks.whenStored = async () => {
      clock.now = () => clock.real() + leaseOver;
      move(-hour, 0);
    };
    expect((await ask(0)).code).toBe('BANK_TIMEOUT');
    expect(bank.payments).toEqual([]);
  });

  test('nor does it where nobody asked meanwhile; then its key is free', async () => {
    const { bank, hooks, ask, move } = await setUp();
    hooks.whenStored = async () => move(leaseOver);
    expect((await ask()).code).toBe('BANK_TIMEOUT');
    expect(bank.payments).toEqual([]);
    hooks.whenStored = async () => {};
    expect(await ask(1)).toMatchObject({ code: 'DONE', replayed: false });
    expect(await ask()).toMatchObject({ code: 'DONE', replayed: true });
    expect(bank.payments).toHaveLength(1);
  });

  test('nor one whose lease could end while it sends', async () => {
    const { bank, hooks, ask, move } = await setUp();
    hooks.whenStored = async () => move(leaseOver - 2_500);
    expect((await ask()).code).toBe('BANK_TIMEOUT');
    expect(bank.payments).toEqual([]);
    hooks.whenStored = async () => move(5_000);
    expect(await ask(1)).toMatchObject({ code: 'DONE', replayed: false });
    expect(bank.payments).toHaveLength(1);
  });

  test('an unknown outcome stays unknown, however long ago it was', async () => {
    const { bank, ask, move } = await setUp();
    bank.decide = () => (socket) => void socket.resetAndDestroy();
    const told = await ask();
    expect(told.code).toBe('OUTCOME_UNKNOWN');
    bank.decide = accept;
    move(10 * 365 * 24 * hour);
    expect(await ask(1)).toEqual(told);
    expect(bank.payments).toHaveLength(1);
  });
});
