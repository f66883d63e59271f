import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';

const monthMs = 31 * 24 * 60 * 60 * 1000;

describe.each(sharedStates)(
  'a store in $name whose clock was a month behind, or is a month ahead',
  ({ start }) => {
    let bank: PaymentBank;
    let state: State;
    const made = new AsyncDisposableStack();
    afterAll(() => made.disposeAsync());
    beforeAll(async () => {
      bank = made.use(await startPaymentBank());
      state = made.use(await start());
    });
    const startBankql = (): Promise<BankqlProcess> =>
      startProcess({ BANK_BASE_URL: bank.url, STATE_URL: state.url });

    test('makes no key free, neither after a start nor in a process that goes on', async () => {
      await using before = await startBankql();
      const { trackId } = await pay(before.url, transfer('once'));
      // A month passes for the store.
      await state.pass(monthMs);
      await using after = await startBankql();
      for (const [n, { url }] of [before, after].entries()) {
        // A payment that begins deletes expired records.
        expect(await pay(url, transfer(`other-${n}`))).toMatchObject({ code: 'DONE', replayed: false });
        expect(await pay(url, transfer('once'))).toMatchObject({ code: 'DONE', replayed: true, trackId });
      }
      expect(bank.of('once')).toHaveLength(1);
    });
  },
);
