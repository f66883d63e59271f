import { describe, expect, test } from 'vitest';
import type { PaymentOutcome, PaymentRecord, PaymentStore } from '../../src/payments/store.ts';
import { done, lease, pending, rejected, start, unknown } from './stores/store-conformance.ts';

/** What every payment store says of a payment's story; part of describePaymentStore. */
export function describeHistory(open: () => PaymentStore): void {
  describe('history', () => {
    const { id, trackId } = pending();
    const afterLease = start + lease;
    const begin = (change: Partial<PaymentRecord> = {}) => open().begin(pending(change), start);
    const finish = (outcome: PaymentOutcome, now = start + 100) =>
      open().end({ id, trackId, outcome, at: now });
    const find = (now = start + 100) => open().find(id, now);
    const who = { replica: 'host:1', requestId: 'request-1' };
    const began = { state: 'PENDING', at: start, ...who };
    const historyOf = async () => (await find())?.history;

    test('tells every change of the state, oldest first', async () => {
      await begin(who);
      expect(await historyOf()).toEqual([began]);
      await finish(unknown);
      await open().settle(id, 'DONE', 'Ada: seen in the ledger', start + 200);
      expect(await historyOf()).toEqual([
        began,
        { state: 'UNKNOWN', at: start + 100, status: 502, code: 'OUTCOME_UNKNOWN' },
        { state: 'DONE', at: start + 200, settledBy: 'Ada: seen in the ledger' },
      ]);
    });

    test('tells of a lease that ended, once, and of the answer that came after it', async () => {
      await begin();
      await find(afterLease);
      await find(afterLease + 1);
      await finish(rejected, afterLease + 2);
      expect((await find(afterLease + 3))?.history).toEqual([
        { state: 'PENDING', at: start },
        { state: 'UNKNOWN', at: afterLease },
        {
          ...{ state: 'REJECTED', at: afterLease + 2, status: 422, code: 'BANK_REJECTED' },
          bankText: 'Not enough money.',
        },
      ]);
    });

    test('does not grow with calls that change nothing', async () => {
      await begin();
      await begin({ trackId: 'attempt-2' });
      await finish(done);
      await finish(rejected);
      await open().settle(id, 'DONE', 'ops', start + 200);
      expect(await historyOf()).toHaveLength(2);
    });

    test('keeps what the bank said as it is, in lines or not', async () => {
      await begin();
      await finish({ ...rejected, bankText: 'a\n{"state":"DONE"}\r\n"ß€😀"' });
      expect(await find()).toMatchObject({
        bankText: 'a\n{"state":"DONE"}\r\n"ß€😀"',
        history: [{ state: 'PENDING' }, { bankText: 'a\n{"state":"DONE"}\r\n"ß€😀"' }],
      });
    });
  });
}
