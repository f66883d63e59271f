import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { later } from '../support/faulty-bank.ts';
import { accept, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { payBody, payToTheEnd, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';
import { lateBy } from '../support/waits.ts';

/** Asks for a payment over a connection of its own, and cuts that off after so long. */
async function payAndLeave(url: string, key: string, afterMs: number): Promise<void> {
  const asked = request(`${url}/graphql`, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', ...credentials },
  });
  asked.on('error', () => {});
  asked.end(payBody(transfer(key)));
  await new Promise((resolve) => asked.once('socket', (socket) => socket.once('connect', resolve)));
  if (afterMs > 0) await lateBy(afterMs);
  asked.destroy();
}

describe.each(sharedStates)('a payment whose client leaves, kept in $name', ({ start }) => {
  let bank: PaymentBank;
  let state: State;
  let bankql: BankqlProcess;
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    bankql = made.use(await startProcess({ BANK_BASE_URL: bank.url, STATE_URL: state.url }));
  });

  test.each([0, 1, 5, 50])('after %i ms is sent at most once, and ends as the bank says', async (afterMs) => {
    bank.decide = (payment) => later(20, accept(payment));
    const keys = Array.from({ length: 40 }, (_, n) => `gone-${afterMs}-${n}`);
    for (let n = 0; n < keys.length; n += 8) {
      await Promise.all(keys.slice(n, n + 8).map((key) => payAndLeave(bankql.url, key, afterMs)));
    }
    for (const key of keys) {
      const told = await payToTheEnd(bankql.url, transfer(key));
      expect(bank.of(key)).toHaveLength(1);
      const trackId = bank.of(key)[0]?.trackId;
      expect(told).toMatchObject({ code: 'DONE', trackId, transactionId: `tx-${trackId}` });
    }
  });

  test('after it was sent runs to its end, and nobody has to ask for that', async () => {
    const answered = Promise.withResolvers<void>();
    bank.decide = (payment) =>
      later(300, (socket) => {
        accept(payment)(socket);
        answered.resolve();
      });
    await payAndLeave(bankql.url, 'sent', 100);
    await answered.promise;
    const told = await payToTheEnd(bankql.url, transfer('sent'));
    expect(told).toMatchObject({ code: 'DONE', replayed: true, trackId: bank.of('sent')[0]?.trackId });
    expect(bank.of('sent')).toHaveLength(1);
  });

  test('and is asked for again at once, many times, is sent once', async () => {
    bank.decide = (payment) => later(20, accept(payment));
    const keys = Array.from({ length: 20 }, (_, n) => `impatient-${n}`);
    await Promise.all(
      keys.map(async (key, n) => {
        for (let time = 0; time < 4; time++) await payAndLeave(bankql.url, key, n % 7);
        const told = await payToTheEnd(bankql.url, transfer(key));
        expect(told).toMatchObject({ code: 'DONE', trackId: bank.of(key)[0]?.trackId });
        expect(bank.of(key)).toHaveLength(1);
      }),
    );
  });
});
