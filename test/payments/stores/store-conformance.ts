import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type PaymentOutcome,
  type PaymentRecord,
  type PaymentStore,
  StoreUnavailable,
} from '../../../src/payments/store.ts';
import { describeHistory } from '../store-history-conformance.ts';
import { describeSearch } from '../store-search-conformance.ts';

/** The retention of every store that the suite opens, and the time at which its tests begin. */
export const retentionMs = 30 * 24 * 60 * 60 * 1000;
export const start = Date.UTC(2026, 0, 15);
export const lease = 30_000;
const hour = 60 * 60 * 1000;

/** A record as a payment begins with it. */
export function pending(change: Partial<PaymentRecord> = {}): PaymentRecord {
  return {
    id: 'a'.repeat(64),
    caller: 'c'.repeat(64),
    payer: 'e'.repeat(64),
    fingerprint: 'f'.repeat(64),
    state: 'PENDING',
    operation: 'makeTransaction',
    bankId: 'SNDBCY2N',
    accountId: 'alice-current',
    toBankId: null,
    toAccountId: 'bob-current',
    description: 'Rent',
    currency: 'EUR',
    amount: '12.50',
    trackId: 'attempt-1',
    createdAt: start,
    updatedAt: start,
    leaseUntil: start + lease,
    answer: null,
    code: null,
    status: null,
    message: null,
    settledBy: null,
    bankText: null,
    requestId: null,
    replica: null,
    sealedKey: null,
    history: [],
    ...change,
  };
}

/** The same as a store gives it back; what its history holds has tests of its own. */
export const stored = (change: Partial<PaymentRecord> = {}): PaymentRecord => ({
  ...pending(change),
  history: expect.any(Array),
});

export const done: PaymentOutcome = {
  state: 'DONE',
  answer: '{"amount":12.50}',
  code: null,
  status: 201,
  message: null,
  bankText: null,
};
export const rejected: PaymentOutcome = {
  state: 'REJECTED',
  answer: null,
  code: 'BANK_REJECTED',
  status: 422,
  message: 'Not enough money.',
  bankText: 'Not enough money.',
};
export const unknown: PaymentOutcome = {
  state: 'UNKNOWN',
  answer: null,
  code: 'OUTCOME_UNKNOWN',
  status: 502,
  message: 'The bank answered 502.',
  bankText: null,
};

/** Registers the tests that every payment store passes; each one gets a fresh, empty store with `retentionMs`. */
export function describePaymentStore(name: string, open: () => Promise<PaymentStore>): void {
  describe(`${name} keeps payments`, () => {
    let store: PaymentStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    const { id, trackId } = pending();
    const begin = (change: Partial<PaymentRecord> = {}, now = start) => store.begin(pending(change), now);
    const finish = (outcome: PaymentOutcome, now = start + 100) =>
      store.end({ id, trackId, outcome, at: now });
    const find = (now = start + 100) => store.find(id, now);
    const afterLease = start + lease;

    describe('begin', () => {
      test('stores a record once, and answers with the one that was there', async () => {
        expect(await begin()).toBeNull();
        expect(await begin({ trackId: 'attempt-2', amount: '99' })).toEqual(stored());
        expect(await find()).toEqual(stored());
      });

      test('stores one of 200 records that come at once', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, n) => begin({ trackId: `at-${n}` })),
        );
        expect(answers.filter((answer) => answer === null)).toHaveLength(1);
        const winner = await find();
        expect(answers.filter((answer) => answer !== null)).toEqual(Array(199).fill(winner));
      });

      test('keeps records with other ids apart', async () => {
        expect(await begin()).toBeNull();
        expect(await begin({ id: 'b' })).toBeNull();
        expect(await begin({ id: 'A'.repeat(64) })).toBeNull();
        expect(await store.search({ states: ['PENDING'] }, start)).toHaveLength(3);
      });

      test('does not change with the object that it was given', async () => {
        const record = { ...pending() };
        await store.begin(record, start);
        record.amount = '1000000';
        expect(await find()).toEqual(stored());
      });

      test.each([
        [
          'text in many scripts',
          { accountId: '日本-Ωμέγα-🏦-עברית', message: 'e\u0301 ≠ é, \t"\'; DROP TABLE' },
        ],
        ['a long answer', { answer: JSON.stringify({ text: 'ß€😀'.repeat(100_000) }) }],
        ['nulls', { currency: null, amount: null }],
        ['empty text', { currency: '', amount: '', bankId: '' }],
        ['every digit', { amount: '90071992547409931234567890.10', createdAt: 8.64e15, updatedAt: 0 }],
        ['all fields', { answer: '{}', code: 'X', status: 0, message: '', settledBy: 'ops' }],
      ])('keeps %s', async (_, change) => {
        expect(await begin(change)).toBeNull();
        expect(await find()).toEqual(stored(change));
        expect(await begin(change)).toEqual(stored(change));
      });
    });

    describe('a lease that ends', () => {
      const lost = {
        ...stored({ state: 'UNKNOWN', code: 'OUTCOME_UNKNOWN', updatedAt: afterLease }),
        message: expect.stringMatching(/may have been sent/),
      };

      test('makes a PENDING record UNKNOWN, once and for good', async () => {
        await begin();
        expect(await find(afterLease - 1)).toEqual(stored());
        const first = await find(afterLease);
        expect(first).toEqual(lost);
        // Later, and also when the clock is put back, it is the same record.
        expect(await find(afterLease + hour)).toEqual(first);
        expect(await begin({ trackId: 'attempt-2' }, start)).toEqual(first);
      });

      test('is seen by begin', async () => {
        await begin();
        expect(await begin({ trackId: 'attempt-2' }, afterLease)).toEqual(lost);
      });

      test('is seen by list', async () => {
        await begin();
        expect(await store.search({ states: ['PENDING'] }, afterLease)).toEqual([]);
        expect(await store.search({ states: ['UNKNOWN'] }, afterLease)).toEqual([lost]);
      });

      test('is seen by settle', async () => {
        await begin();
        expect(await store.settle(id, 'DONE', 'ops', afterLease - 1)).toBe(false);
        expect(await store.settle(id, 'DONE', 'ops', afterLease)).toBe(true);
      });
    });

    describe('finish', () => {
      test.each([done, rejected, unknown])('writes $state', async (outcome) => {
        await begin();
        expect(await finish(outcome)).toBe(true);
        expect(await find()).toEqual(stored({ ...outcome, updatedAt: start + 100 }));
      });

      test('is for the attempt that began the payment', async () => {
        await begin();
        expect(await store.end({ id, trackId: 'attempt-2', outcome: done, at: start })).toBe(false);
        expect(await store.end({ id: 'b', trackId, outcome: done, at: start })).toBe(false);
        expect(await find()).toEqual(stored());
      });

      test('writes once', async () => {
        await begin();
        await finish(unknown);
        expect(await finish(done, start + 200)).toBe(false);
        expect(await find()).toMatchObject({ ...unknown, updatedAt: start + 100 });
      });

      test.each([done, rejected, unknown])('writes $state after the lease ended, once', async (outcome) => {
        await begin();
        await find(afterLease);
        expect(await finish(outcome, afterLease + 1)).toBe(true);
        expect(await find(afterLease + 2)).toEqual(stored({ ...outcome, updatedAt: afterLease + 1 }));
        expect(await finish(done, afterLease + 3)).toBe(false);
      });

      test('does not overrule an operator', async () => {
        await begin();
        await store.settle(id, 'REJECTED', 'ops', afterLease);
        expect(await finish(done, afterLease + 1)).toBe(false);
        expect(await find(afterLease + 1)).toMatchObject({ state: 'REJECTED', settledBy: 'ops' });
      });
    });

    describe('release', () => {
      const release = (attempt = trackId, now = afterLease + 1) =>
        store.end({ id, trackId: attempt, outcome: null, at: now });

      test('deletes a PENDING record of this attempt, whose key is free again', async () => {
        await begin();
        expect(await release('attempt-2')).toBe(false);
        expect(await store.end({ id: 'b', trackId, outcome: null, at: start })).toBe(false);
        expect(await release()).toBe(true);
        expect(await release()).toBe(false);
        expect(await find()).toBeNull();
        expect(await store.status(start)).toMatchObject({ records: 0, pending: 0, unknown: 0 });
        expect(await begin({ trackId: 'attempt-2' })).toBeNull();
        expect(await release()).toBe(false);
      });

      test('deletes it after its lease as well, if nobody has asked', async () => {
        await begin();
        expect(await release()).toBe(true);
        expect(await find(afterLease)).toBeNull();
      });

      test('ends a record of this attempt of which somebody may have been told that it may have been sent', async () => {
        await begin();
        await find(afterLease);
        expect(await release('attempt-2')).toBe(false);
        expect(await release()).toBe(true);
        expect(await find(afterLease + 2)).toMatchObject({
          state: 'REJECTED',
          code: 'BANK_REJECTED',
          message: expect.stringMatching(/was not executed, and is never sent under this idempotency key/),
        });
        expect(await begin({ trackId: 'attempt-2' }, afterLease + 2)).toMatchObject({
          state: 'REJECTED',
          trackId,
        });
        expect(await release()).toBe(false);
        expect(await finish(done, afterLease + 3)).toBe(false);
      });

      test.each([done, rejected, unknown])('leaves what ended as $state', async (outcome) => {
        await begin();
        await finish(outcome);
        expect(await release()).toBe(false);
        expect(await find()).toMatchObject(outcome);
      });

      test('leaves what an operator settled', async () => {
        await begin();
        await store.settle(id, 'DONE', 'ops', afterLease);
        expect(await release()).toBe(false);
        expect(await find(afterLease)).toMatchObject({ state: 'DONE', settledBy: 'ops' });
      });
    });

    describe('retention', () => {
      const changed = start + 100;

      test.each([done, rejected])('forgets a $state record when it is over, not before', async (outcome) => {
        await begin();
        await finish(outcome);
        expect(await find(changed + retentionMs)).not.toBeNull();
        expect(await store.search({ states: [outcome.state] }, changed + retentionMs)).toHaveLength(1);
        expect(await store.search({ states: [outcome.state] }, changed + retentionMs + 1)).toEqual([]);
        expect(await begin({ trackId: 'attempt-2' }, changed + retentionMs)).toMatchObject(outcome);
        expect(await find(changed + retentionMs + 1)).toBeNull();
        expect(await begin({ trackId: 'attempt-2' }, changed + retentionMs + 1)).toBeNull();
      });

      test('forgets what begin asks for first', async () => {
        await begin();
        await finish(done);
        expect(await begin({ trackId: 'attempt-2' }, changed + retentionMs + 1)).toBeNull();
      });

      test('never forgets what may have been sent', async () => {
        await begin();
        await begin({ id: 'finished' });
        await store.end({ id: 'finished', trackId, outcome: unknown, at: changed });
        const muchLater = start + 100 * retentionMs;
        expect(await begin({ trackId: 'attempt-2' }, muchLater)).toMatchObject({ state: 'UNKNOWN', trackId });
        expect(await store.find('finished', muchLater)).toMatchObject(unknown);
        expect(await store.search({ states: ['UNKNOWN'] }, muchLater)).toHaveLength(2);
      });

      test('counts from the last change, so that a late settlement is kept as long', async () => {
        await begin();
        const settledAt = start + 2 * retentionMs;
        await store.settle(id, 'DONE', 'ops', settledAt);
        expect(await begin({ trackId: 'attempt-2' }, settledAt + retentionMs)).toMatchObject({
          state: 'DONE',
        });
      });

      test('keeps all others while it forgets', async () => {
        await begin();
        await finish(done);
        await begin({ id: 'young', createdAt: start + retentionMs }, start + retentionMs);
        await store.end({ id: 'young', trackId, outcome: done, at: start + retentionMs });
        const now = changed + retentionMs + 1;
        expect(await begin({ id: 'third', leaseUntil: now + lease }, now)).toBeNull();
        expect((await store.search({ states: ['DONE'] }, now)).map((record) => record.id)).toEqual(['young']);
      });
    });

    describe('settle', () => {
      test.each(['DONE', 'REJECTED'] as const)('makes an UNKNOWN record %s', async (state) => {
        await begin();
        await finish(unknown);
        expect(await store.settle(id, state, 'ops: seen in the ledger', start + 200)).toBe(true);
        expect(await find()).toEqual(
          // The status is what the bank said; the code and the message were about not knowing.
          stored({ state, status: 502, settledBy: 'ops: seen in the ledger', updatedAt: start + 200 }),
        );
      });

      test('is for UNKNOWN records, once', async () => {
        expect(await store.settle(id, 'DONE', 'ops', start)).toBe(false);
        await begin();
        expect(await store.settle(id, 'DONE', 'ops', start)).toBe(false);
        await finish(unknown);
        expect(await store.settle(id, 'DONE', 'ops', start + 200)).toBe(true);
        expect(await store.settle(id, 'REJECTED', 'other', start + 300)).toBe(false);
        expect(await find()).toMatchObject({ state: 'DONE', settledBy: 'ops', updatedAt: start + 200 });
      });

      test.each([done, rejected])('leaves a $state record', async (outcome) => {
        await begin();
        await finish(outcome);
        expect(await store.settle(id, 'DONE', 'ops', start + 200)).toBe(false);
        expect(await find()).toMatchObject({ ...outcome, settledBy: null });
      });
    });

    describeHistory(() => store);
    describeSearch(() => store);

    test('has a secret, and no loss; to accept none changes nothing', async () => {
      expect(store.secret).toMatch(/^[0-9a-f]{64}$/);
      expect(store.loss).toBeNull();
      await begin();
      await store.acceptLoss('Ada: for no reason', start);
      expect(store.loss).toBeNull();
      expect(await find()).toEqual(stored());
      expect(await begin({ id: 'b' })).toBeNull();
    });

    test('finds nothing in an empty store', async () => {
      expect(await find()).toBeNull();
      expect(await store.search({ states: ['PENDING'] }, start)).toEqual([]);
      expect(await finish(done)).toBe(false);
      expect(await store.end({ id, trackId, outcome: null, at: start })).toBe(false);
    });

    test('refuses every call after close, and closes twice', async () => {
      await store.close();
      await store.close();
      await expect(begin()).rejects.toThrow(StoreUnavailable);
      await expect(finish(done)).rejects.toThrow(StoreUnavailable);
      await expect(store.end({ id, trackId, outcome: null, at: start })).rejects.toThrow(StoreUnavailable);
      await expect(find()).rejects.toThrow(StoreUnavailable);
      await expect(store.search({ states: ['DONE'] }, start)).rejects.toThrow(StoreUnavailable);
      await expect(store.status(start)).rejects.toThrow(StoreUnavailable);
      await expect(store.settle(id, 'DONE', 'ops', start)).rejects.toThrow(StoreUnavailable);
    });
  });
}
