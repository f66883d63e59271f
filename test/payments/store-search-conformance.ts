import { beforeEach, describe, expect, test } from 'vitest';
import type { PaymentQuery, PaymentRecord, PaymentStore } from '../../src/payments/store.ts';
import { done, lease, pending, rejected, retentionMs, start, unknown } from './stores/store-conformance.ts';

/** What every payment store finds, and counts; part of describePaymentStore. */
export function describeSearch(open: () => PaymentStore): void {
  const { trackId } = pending();
  const afterLease = start + lease;
  const begin = (change: Partial<PaymentRecord> = {}) => open().begin(pending(change), start);

  describe('search', () => {
    const alice = 'a1'.repeat(32);
    const bob = 'b0'.repeat(32);
    const records = [
      { id: 'aa1', caller: alice, createdAt: start + 1, trackId: 't-1', requestId: 'r-1' },
      { id: 'aa2', caller: alice, createdAt: start + 2, trackId: 't-2', requestId: 'r-1' },
      { id: 'ab3', caller: bob, createdAt: start + 3, trackId: 't-3', accountId: 'bob-savings' },
      { id: 'ab4', caller: alice, createdAt: start + 4, trackId: 't-4', toAccountId: null },
      { id: 'ac6', caller: bob, createdAt: start + 5, trackId: 't-6', toAccountId: 'bob-savings' },
      { id: 'ac5', caller: alice, createdAt: start + 5, trackId: 't-5' },
    ];
    beforeEach(async () => {
      for (const record of records) await begin(record);
      await open().end({ id: 'aa2', trackId: 't-2', outcome: done, at: start + 100 });
      await open().end({ id: 'ab3', trackId: 't-3', outcome: rejected, at: start + 90 });
      await open().end({ id: 'ab4', trackId: 't-4', outcome: unknown, at: start + 80 });
    });
    const ids = async (query: PaymentQuery, now = start + 200) =>
      (await open().search(query, now)).map((record) => record.id);

    test.each<[string, PaymentQuery, readonly string[]]>([
      ['everything', {}, ['aa1', 'aa2', 'ab3', 'ab4', 'ac5', 'ac6']],
      ['the newest', { newestFirst: true, limit: 3 }, ['ac6', 'ac5', 'ab4']],
      ['the oldest', { limit: 2 }, ['aa1', 'aa2']],
      ['a state', { states: ['PENDING'] }, ['aa1', 'ac5', 'ac6']],
      ['two states', { states: ['UNKNOWN', 'DONE'] }, ['aa2', 'ab4']],
      ['no state', { states: [] }, []],
      ['a caller', { caller: alice }, ['aa1', 'aa2', 'ab4', 'ac5']],
      [
        'a caller’s newest in some states',
        { caller: alice, states: ['PENDING', 'UNKNOWN'], newestFirst: true, limit: 2 },
        ['ac5', 'ab4'],
      ],
      ['a caller that never paid', { caller: 'c'.repeat(64) }, []],
      ['how an id begins', { idPrefix: 'aa' }, ['aa1', 'aa2']],
      ['a whole id', { idPrefix: 'ac6' }, ['ac6']],
      ['no id', { idPrefix: '%' }, []],
      ['a Track-ID', { trackId: 't-3' }, ['ab3']],
      ['a request id', { requestId: 'r-1' }, ['aa1', 'aa2']],
      ['an account that pays or is paid', { accountId: 'bob-savings' }, ['ab3', 'ac6']],
      ['a time', { since: start + 2, until: start + 4 }, ['aa2', 'ab3']],
      [
        'all of these',
        {
          states: ['DONE', 'PENDING'],
          caller: alice,
          requestId: 'r-1',
          since: start + 2,
          accountId: 'alice-current',
        },
        ['aa2'],
      ],
      ['what is nowhere together', { trackId: 't-1', caller: bob }, []],
    ])('by %s', async (_, query, expected) => {
      expect(await ids(query)).toEqual(expected);
    });

    test('gives whole records', async () => {
      const [record] = await open().search({ trackId: 't-2' }, start + 200);
      expect(record).toEqual(await open().find('aa2', start + 200));
      expect(record).toMatchObject({ ...done, caller: alice, requestId: 'r-1', updatedAt: start + 100 });
    });

    test('sees leases that ended, and nothing that is older than the retention', async () => {
      expect(await ids({ caller: alice, states: ['UNKNOWN'] }, afterLease)).toEqual(['aa1', 'ab4', 'ac5']);
      const later = start + 95 + retentionMs;
      expect(await ids({ states: ['DONE', 'REJECTED'] }, later)).toEqual(['aa2']);
      expect(await ids({ caller: bob }, later)).toEqual(['ac6']);
      expect(await ids({ idPrefix: 'ab' }, later)).toEqual(['ab4']);
    });
  });

  describe('status', () => {
    test('counts what is there', async () => {
      expect(await open().status(start)).toEqual({ records: 0, pending: 0, unknown: 0, newestAt: null });
      await begin({ id: 'a', createdAt: start + 5 });
      await begin({ id: 'b', createdAt: start + 7 });
      await begin({ id: 'c', createdAt: start + 6 });
      await open().end({ id: 'b', trackId, outcome: done, at: start + 8 });
      await open().end({ id: 'c', trackId, outcome: unknown, at: start + 8 });
      expect(await open().status(start + 9)).toEqual({
        records: 3,
        pending: 1,
        unknown: 1,
        newestAt: start + 7,
      });
    });

    test('sees what time changes', async () => {
      await begin({ id: 'a' });
      await begin({ id: 'b', createdAt: start + 7 });
      await open().end({ id: 'b', trackId, outcome: done, at: start + 8 });
      expect(await open().status(afterLease)).toMatchObject({ records: 2, pending: 0, unknown: 1 });
      const later = start + 9 + retentionMs;
      expect(await open().status(later)).toEqual({ records: 1, pending: 0, unknown: 1, newestAt: start });
    });
  });
}
