import { afterEach, expect, test } from 'vitest';
import { leaseMarginMs } from '../../src/payments/service.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { clock } from '../support/monotonic-clock.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { until } from '../support/waits.ts';

afterEach(() => {
  clock.now = clock.real;
});

test.each<[string, string, (clocks: { wall: number }) => void]>([
  [
    'its lease is nearly over, since its machine was suspended',
    'BANK_TIMEOUT',
    (clocks) => {
      clocks.wall += leaseMarginMs;
    },
  ],
  [
    'its deadline is over, although no timer has fired yet',
    // The time was used up by the wait for a connection, and not by the bank.
    'OVERLOADED',
    () => {
      clock.now = () => clock.real() + bankDefaults.paymentTimeoutMs + 1;
    },
  ],
])(
  'a payment that waits for a connection until %s is not sent, and its key is free',
  async (_, code, letPass) => {
    const clocks = { wall: Date.now() };
    await using fixture = await startBankqlFixture({
      now: () => clocks.wall,
      bankOptions: { connections: 1 },
    });
    const { bank, bankql } = fixture;
    const answered = Promise.withResolvers<void>();
    bank.otherwise(async () => {
      await answered.promise;
      return { body: { id: 'TX' } };
    });
    const first = pay(bankql, transfer('first'));
    await until(() => bank.calls.length === 1);
    const late = pay(bankql, transfer('late'));
    await until(() => bankql.audit.length === 2);
    letPass(clocks);
    answered.resolve();
    expect((await first).code).toBe('DONE');
    expect((await late).code).toBe(code);
    expect(bankql.audit.map(({ state }) => state).sort()).toEqual(['DONE', 'NOT_SENT', 'PENDING', 'PENDING']);
    expect(bank.calls).toHaveLength(1);
    clock.now = clock.real;
    expect(await pay(bankql, transfer('late'))).toMatchObject({ code: 'DONE', replayed: false });
    expect(bank.calls).toHaveLength(2);
  },
);
