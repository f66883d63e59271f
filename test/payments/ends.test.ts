import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createPaymentService, leaseMarginMs } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { bankDefaults, createTestBankql, testOptions } from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { clock } from '../support/monotonic-clock.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { closedTcpGate } from '../support/tcp-gate.ts';
import { until } from '../support/waits.ts';

/** How attempts to pay end if the store, the connection or the code fails in between. */

const retentionMs = 86_400_000;
const payment = (key: string) => `mutation { makeTransaction(input: {
  accountId: "ACC", to: { accountId: "TO" }, value: { amount: "1" }, idempotencyKey: "${key}" }) {
    replayed payment { state trackId transactionId }
} }`;
const find = (key: string) => `{ payment(idempotencyKey: "${key}") { state transactionId } }`;

async function setUp({ store, ...options }: Omit<Parameters<typeof testOptions>[0], 'bankUrl'> = {}) {
  const bank = await startRecordingBank();
  const gate = await closedTcpGate(bank.url);
  const made = await testOptions({ ...options, bankUrl: gate.url, store });
  const bankql = await createTestBankql({ bankUrl: gate.url, payments: made.payments });
  onTestFinished(async () => {
    await bankql[Symbol.asyncDispose]();
    await gate[Symbol.asyncDispose]();
    await bank[Symbol.asyncDispose]();
  });
  const ask = (document: string) =>
    bankql.ask<Record<string, Record<string, unknown> | null>, object>(document);
  return { bank, gate, ask, payments: made.payments, audit: () => made.audit.map(({ state }) => state) };
}

describe('a defect between the beginning and the end', () => {
  test.each(['of the sending', 'of what reads the answer'])(
    '%s ends the payment as UNKNOWN',
    async (where) => {
      const store = createMemoryStore({ retentionMs });
      const { bank, gate, ask, audit } = await setUp({ store });
      await gate.open();
      bank.otherwise({ body: { id: 'TX' } });
      const options = await testOptions({ bankUrl: gate.url, store });
      const lines: string[] = [];
      const broken = createPaymentService({
        bank: {
          ...options.bank,
          async send(call, more) {
            const response = await options.bank.send(call, more);
            if (where === 'of the sending') throw new TypeError('a defect');
            return Object.defineProperty({ ...response }, 'body', {
              get() {
                throw new TypeError('a defect');
              },
            });
          },
        },
        store,
        leaseMs: 600_000,
        audit: ({ state }) => void lines.push(state),
      });
      await using bankql = await createTestBankql({ bankUrl: gate.url, payments: broken });
      expect(failuresOf(await bankql.ask(payment('key')))).toEqual(['makeTransaction INTERNAL']);
      expect(lines).toEqual(['PENDING', 'UNKNOWN']);
      expect(await store.search({})).toMatchObject([{ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN' }]);
      expect(await bankql.ask(payment('key'))).toMatchObject({
        data: { makeTransaction: { payment: { state: 'UNKNOWN' } } },
      });
      expect(bank.calls).toHaveLength(1);
      expect([await ask(find('other')), audit()]).toEqual([{ data: { payment: null } }, []]);
    },
  );
});

describe('a payment that waits for its connection', () => {
  afterEach(() => {
    clock.now = clock.real;
  });

  test.each<[string, string, (clocks: { wall: number }) => void]>([
    [
      'until its lease is nearly over, since its machine was suspended',
      'BANK_TIMEOUT',
      (clocks) => {
        clocks.wall += leaseMarginMs;
      },
    ],
    [
      'until its deadline is over, although no timer has fired yet',
      // The wait for a connection used up the time, not the bank.
      'OVERLOADED',
      () => {
        clock.now = () => clock.real() + bankDefaults.paymentTimeoutMs + 1;
      },
    ],
  ])('%s is not sent, and its key is free', async (_, code, letPass) => {
    const clocks = { wall: Date.now() };
    const { bank, gate, ask, audit } = await setUp({
      now: () => clocks.wall,
      bankOptions: { connections: 1 },
    });
    await gate.open();
    const answered = Promise.withResolvers<void>();
    bank.otherwise(async () => {
      await answered.promise;
      return { body: { id: 'TX' } };
    });
    const first = ask(payment('first'));
    await until(() => bank.calls.length === 1);
    const late = ask(payment('late'));
    await until(() => audit().length === 2);
    letPass(clocks);
    answered.resolve();
    expect((await first).data?.makeTransaction).toMatchObject({ payment: { state: 'DONE' } });
    expect(failuresOf(await late)).toEqual([`makeTransaction ${code}`]);
    expect(audit().sort()).toEqual(['DONE', 'NOT_SENT', 'PENDING', 'PENDING']);
    expect(bank.calls).toHaveLength(1);
    clock.now = clock.real;
    expect((await ask(payment('late'))).data?.makeTransaction).toMatchObject({ replayed: false });
    expect(bank.calls).toHaveLength(2);
  });
});
