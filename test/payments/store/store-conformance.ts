import { beforeEach, describe, expect, test } from 'vitest';
import type { PaymentOutcome, PaymentRecord } from '../../../src/payments/payment-record.ts';
import { type PaymentQuery, type PaymentStore, StoreUnavailable } from '../../../src/payments/store/store.ts';

/** The retention of every store that the suite opens, and a time for records, which databases replace by their own. */
export const retentionMs = 30 * 24 * 60 * 60 * 1000;
export const start = Date.UTC(2026, 0, 15);
export const lease = 120_000;
const hour = 60 * 60 * 1000;

/** A record as it is stored for a new payment. */
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
    idempotencyKey: 'key-1',
    history: [],
    ...change,
  };
}

/** The same record as a store returns it. The database sets the times. */
export const stored = (change: Partial<PaymentRecord> = {}): PaymentRecord => ({
  ...pending(),
  createdAt: expect.any(Number),
  updatedAt: expect.any(Number),
  leaseUntil: expect.any(Number),
  history: expect.any(Array),
  ...change,
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

/** A store of a test. */
interface OpenedStore {
  readonly store: PaymentStore;
  /** Moves all stored times back, as if time had passed. */
  pass(ms: number): Promise<void>;
}

/**
 * Registers the tests that every payment store must pass. `open` gives each test an empty store with `retentionMs`, and closes
 * it. The last test closes the store itself, so that the others may share one.
 */
export function describePaymentStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(`${name} keeps payments`, () => {
    let opened: OpenedStore;
    let store: PaymentStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });

    const { id, trackId } = pending();
    const pass = (ms: number) => opened.pass(ms);
    const begin = (change: Partial<PaymentRecord> = {}) => store.begin(pending(change), lease);
    const end = (outcome: PaymentOutcome | null, change = {}) =>
      store.end({ id, trackId, outcome, ...change });
    const find = () => store.find(id);

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
        expect(await store.search({ states: ['PENDING'] })).toHaveLength(3);
      });

      test('gives a record the times of the database', async () => {
        await begin({ createdAt: 5, updatedAt: 5, leaseUntil: 5 });
        const { now } = await store.count();
        const record = await find();
        expect(record?.createdAt).toBeGreaterThan(now - hour);
        expect(record?.createdAt).toBeLessThanOrEqual(now);
        expect(record?.updatedAt).toBe(record?.createdAt);
        expect(record?.leaseUntil).toBe((record?.createdAt ?? 0) + lease);
      });

      test.each([
        [
          'text in many scripts',
          { accountId: '日本-Ωμέγα-🏦-עברית', message: 'e\u0301 ≠ é, \t"\'; DROP TABLE' },
        ],
        ['a long answer', { answer: JSON.stringify({ text: 'ß€😀'.repeat(100_000) }) }],
        ['nulls', { currency: null, amount: null, toAccountId: null }],
        ['empty text', { currency: '', amount: '', bankId: '' }],
        ['every digit', { amount: '90071992547409931234567890.10' }],
        ['all fields', { answer: '{}', code: 'X', status: 0, message: '', settledBy: 'ops' }],
      ])('keeps %s', async (_, change) => {
        expect(await begin(change)).toBeNull();
        expect(await find()).toEqual(stored(change));
        expect(await begin(change)).toEqual(stored(change));
      });
    });

    describe('a lease that ends', () => {
      const lost = stored({
        state: 'UNKNOWN',
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringMatching(/may have been sent/),
      });

      test('makes a PENDING record UNKNOWN, once and for good', async () => {
        await begin();
        await pass(lease - hour / 60);
        expect(await find()).toEqual(stored());
        await pass(hour / 60);
        const first = await find();
        expect(first).toEqual(lost);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ state: 'UNKNOWN', trackId });
        expect((await find())?.history).toHaveLength(2);
      });

      test('is seen by begin', async () => {
        await begin();
        await pass(lease);
        expect(await begin({ trackId: 'attempt-2' })).toEqual(lost);
      });

      test('is seen by searches and counts', async () => {
        await begin();
        await pass(lease);
        expect(await store.count()).toMatchObject({ pending: 0, unknown: 1 });
        expect(await store.search({ states: ['PENDING'] })).toEqual([]);
        expect(await store.search({ states: ['UNKNOWN'] })).toEqual([lost]);
        expect(await find()).toEqual(lost);
      });

      test('is seen by settle', async () => {
        await begin();
        expect(await store.settle(id, 'DONE', 'ops')).toBe(false);
        await pass(lease);
        expect(await store.settle(id, 'DONE', 'ops')).toBe(true);
      });
    });

    describe('the end of an attempt', () => {
      test.each([done, rejected, unknown])('writes $state', async (outcome) => {
        await begin();
        expect(await end(outcome)).toBe(true);
        expect(await find()).toEqual(stored({ ...outcome }));
      });

      test.each([done, rejected, unknown])('writes $state after the lease ended, once', async (outcome) => {
        await begin();
        await pass(lease);
        await find();
        expect(await end(outcome)).toBe(true);
        expect(await find()).toEqual(stored({ ...outcome }));
        expect(await end(done)).toBe(false);
      });
    });

    describe('the end of an attempt that executed nothing', () => {
      test('deletes a PENDING record of this attempt, whose key is free again', async () => {
        await begin();
        expect(await end(null, { trackId: 'attempt-2' })).toBe(false);
        expect(await end(null)).toBe(true);
        expect(await end(null)).toBe(false);
        expect(await find()).toBeNull();
        expect(await store.count()).toMatchObject({ pending: 0, unknown: 0, newestAt: null });
        expect(await begin({ trackId: 'attempt-2' })).toBeNull();
        expect(await end(null)).toBe(false);
      });

      test('deletes it after its lease as well, if nobody has asked', async () => {
        await begin();
        await pass(lease);
        expect(await end(null)).toBe(true);
        expect(await find()).toBeNull();
      });

      test('rejects a record of this attempt of which somebody may have been told that it may have been sent', async () => {
        await begin();
        await pass(lease);
        await find();
        expect(await end(null, { trackId: 'attempt-2' })).toBe(false);
        expect(await end(null)).toBe(true);
        expect(await find()).toMatchObject({
          state: 'REJECTED',
          code: 'BANK_REJECTED',
          message: expect.stringMatching(/was not executed, and is never sent under this idempotency key/),
        });
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ state: 'REJECTED', trackId });
        expect(await end(null)).toBe(false);
        expect(await end(done)).toBe(false);
      });
    });

    describe('retention', () => {
      test.each([done, rejected])('forgets a $state record when it is over, not before', async (outcome) => {
        const { state } = outcome;
        await begin();
        await end(outcome);
        await pass(retentionMs - hour);
        expect(await find()).not.toBeNull();
        expect(await store.search({ states: [state] })).toHaveLength(1);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject(outcome);
        await pass(hour + 1);
        expect(await store.search({ states: [state] })).toEqual([]);
        expect(await store.search({ idPrefix: id })).toEqual([]);
        expect(await begin({ trackId: 'attempt-2' })).toBeNull();
        expect(await find()).toMatchObject({ state: 'PENDING', trackId: 'attempt-2' });
      });

      test('never forgets what may have been sent', async () => {
        await begin();
        await begin({ id: 'finished' });
        await end(unknown, { id: 'finished' });
        await pass(100 * retentionMs);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ state: 'UNKNOWN', trackId });
        expect(await store.find('finished')).toMatchObject(unknown);
        expect(await store.search({ states: ['UNKNOWN'] })).toHaveLength(2);
      });

      test('counts from the last change, so that a late settlement is kept as long', async () => {
        await begin();
        await pass(2 * retentionMs);
        await store.settle(id, 'DONE', 'ops');
        await pass(retentionMs - hour);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ state: 'DONE' });
      });
    });

    describe('a clock that falls back by a month, and is put right later', () => {
      const fall = retentionMs + 24 * hour;

      test.each([done, rejected])('frees no key of the time between: $state', async (outcome) => {
        await begin({ id: 'earlier' });
        await end(done, { id: 'earlier' });
        await pass(-fall);
        await begin();
        await end(outcome);
        const { now, newestEndAt } = await store.count();
        const record = await find();
        // Only the time from which the retention is counted differs from the time of the clock.
        expect(record?.createdAt).toBeGreaterThan(now - hour);
        expect(record?.createdAt).toBeLessThanOrEqual(now);
        expect(record?.leaseUntil).toBe((record?.createdAt ?? 0) + lease);
        expect(record?.updatedAt).toBeGreaterThan(now + fall - hour);
        expect(newestEndAt).toBe(record?.updatedAt);
        await pass(fall);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ ...outcome, trackId });
      });

      test('ends no lease before its time', async () => {
        await begin({ id: 'earlier' });
        await end(done, { id: 'earlier' });
        await pass(-fall);
        await begin();
        await pass(lease);
        await find();
        expect(await find()).toMatchObject({ state: 'UNKNOWN' });
        const { now } = await store.count();
        expect((await find())?.updatedAt).toBeLessThanOrEqual(now);
      });
    });

    describe('settle', () => {
      test.each(['DONE', 'REJECTED'] as const)('makes an UNKNOWN record %s, once', async (state) => {
        await begin();
        await end(unknown);
        expect(await store.settle(id, state, 'ops: seen in the ledger')).toBe(true);
        expect(await find()).toEqual(
          // The bank's status is kept. The code and the message are dropped, because they were about the unknown outcome.
          stored({ state, status: 502, settledBy: 'ops: seen in the ledger' }),
        );
        expect(await store.settle(id, 'REJECTED', 'other')).toBe(false);
      });
    });

    describe('recover', () => {
      const recover = (change = {}) => store.recover(pending({ createdAt: start, ...change }), 'Ada');

      test('records a payment that only a log names as UNKNOWN, since it began, so that its key is not free', async () => {
        expect(await recover()).toBe(true);
        const recovered = {
          state: 'UNKNOWN',
          createdAt: start,
          history: [
            { state: 'PENDING', at: start },
            { state: 'UNKNOWN', at: expect.any(Number), recoveredBy: 'Ada' },
          ],
        };
        expect(await find()).toMatchObject(recovered);
        expect(await begin({ trackId: 'attempt-2' })).toMatchObject({ ...recovered, trackId });
        expect(await store.search({ states: ['UNKNOWN'] })).toHaveLength(1);
        expect(await store.count()).toMatchObject({ pending: 0, unknown: 1 });
      });

      test('leaves a record that is there', async () => {
        await begin();
        expect(await recover({ trackId: 'attempt-2' })).toBe(false);
        expect(await find()).toEqual(stored());
      });

      test('is ended by the attempt itself, which may know its outcome, or by an operator', async () => {
        await recover();
        await recover({ id: 'b' });
        expect(await end(done, { trackId: 'attempt-2' })).toBe(false);
        expect(await end(done)).toBe(true);
        expect(await find()).toMatchObject({ ...done, createdAt: start });
        expect(await store.settle('b', 'REJECTED', 'ops')).toBe(true);
      });
    });

    describe('history', () => {
      const who = { replica: 'host:1', requestId: 'request-1' };

      test('tells every change of the state by the clock of the database, oldest first', async () => {
        await begin(who);
        await end(unknown);
        await store.settle(id, 'DONE', 'Ada: seen in the ledger');
        const record = await find();
        expect(record?.history).toEqual([
          { state: 'PENDING', at: record?.createdAt, ...who },
          { state: 'UNKNOWN', at: expect.any(Number), status: 502, code: 'OUTCOME_UNKNOWN' },
          { state: 'DONE', at: record?.updatedAt, settledBy: 'Ada: seen in the ledger' },
        ]);
      });

      test('tells of a lease that ended, and of the answer that came after it', async () => {
        await begin();
        await pass(lease);
        await find();
        await end({ ...rejected, bankText: 'a\n{"state":"DONE"}\r\n"ß€😀"' });
        expect((await find())?.history).toMatchObject([
          { state: 'PENDING' },
          { state: 'UNKNOWN' },
          {
            state: 'REJECTED',
            status: 422,
            code: 'BANK_REJECTED',
            bankText: 'a\n{"state":"DONE"}\r\n"ß€😀"',
          },
        ]);
      });
    });

    describe('search', () => {
      const alice = 'a1'.repeat(32);
      const bob = 'b0'.repeat(32);
      const records = [
        { id: 'aa1', caller: alice, trackId: 't-1', requestId: 'r-1' },
        { id: 'aa2', caller: alice, trackId: 't-2', requestId: 'r-1' },
        { id: 'ab3', caller: bob, trackId: 't-3', accountId: 'bob-savings' },
        { id: 'ab4', caller: alice, trackId: 't-4', payer: 'other', toAccountId: null },
        { id: 'ac5', caller: alice, trackId: 't-5' },
        { id: 'ac6', caller: bob, trackId: 't-6', toAccountId: 'bob-savings' },
      ];
      /** The times at which these payments began. */
      let times: number[] = [];
      beforeEach(async () => {
        for (const record of records) {
          await begin(record);
          await pass(1_000);
        }
        await end(done, { id: 'aa2', trackId: 't-2' });
        await end(rejected, { id: 'ab3', trackId: 't-3' });
        await end(unknown, { id: 'ab4', trackId: 't-4' });
        times = (await store.search({})).map(({ createdAt }) => createdAt);
      });
      const ids = async (query: PaymentQuery) => (await store.search(query)).map((record) => record.id);

      test.each<[string, PaymentQuery, readonly string[]]>([
        ['everything', {}, ['aa1', 'aa2', 'ab3', 'ab4', 'ac5', 'ac6']],
        ['the newest', { newestFirst: true, limit: 3 }, ['ac6', 'ac5', 'ab4']],
        ['the oldest', { limit: 2 }, ['aa1', 'aa2']],
        ['a state', { states: ['PENDING'] }, ['aa1', 'ac5', 'ac6']],
        ['two states', { states: ['UNKNOWN', 'DONE'] }, ['aa2', 'ab4']],
        // SQLite accepts no expression of 3,000 conditions, and a store that fails counts as away.
        ['a state that is repeated', { states: Array(3000).fill('UNKNOWN') }, ['ab4']],
        ['no state', { states: [] }, []],
        ['a caller', { caller: alice }, ['aa1', 'aa2', 'ab4', 'ac5']],
        ['a caller with a subscription key', { caller: alice, payer: 'other' }, ['ab4']],
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
        ['a Track-ID of the caller', { trackId: 't-3', caller: bob }, ['ab3']],
        ['a request id', { requestId: 'r-1' }, ['aa1', 'aa2']],
        ['an account that pays or is paid', { accountId: 'bob-savings' }, ['ab3', 'ac6']],
        [
          'all of these',
          { states: ['DONE', 'PENDING'], caller: alice, requestId: 'r-1', accountId: 'alice-current' },
          ['aa1', 'aa2'],
        ],
        ['what is nowhere together', { trackId: 't-1', caller: bob }, []],
      ])('by %s', async (_, query, expected) => {
        expect(await ids(query)).toEqual(expected);
      });

      test('by time', async () => {
        expect(await ids({ since: times[1], until: times[3] })).toEqual(['aa2', 'ab3']);
        expect(await ids({ since: times[1], newestFirst: true, limit: 2 })).toEqual(['ac6', 'ac5']);
      });

      test('continues after a record, in both directions', async () => {
        const after = { created_at: times[2] ?? 0, id: 'ab3' };
        expect(await ids({ after })).toEqual(['ab4', 'ac5', 'ac6']);
        expect(await ids({ after, newestFirst: true })).toEqual(['aa2', 'aa1']);
        expect(await ids({ after, caller: alice, limit: 1 })).toEqual(['ab4']);
      });

      test('gives whole records', async () => {
        const [record] = await store.search({ trackId: 't-2' });
        expect(record).toEqual(await store.find('aa2'));
        expect(record).toMatchObject({ ...done, caller: alice, requestId: 'r-1' });
      });

      test('fills each page with records that match, although leases ended and others are older than the retention', async () => {
        for (let n = 0; n < 40; n++) {
          await begin({ id: `old-${n}`, trackId: `old-${n}` });
          await end(done, { id: `old-${n}`, trackId: `old-${n}` });
        }
        await pass(retentionMs + 1);
        for (let n = 0; n < 4; n++) await begin({ id: `new-${n}`, trackId: `new-${n}` });
        const first = await store.search({ states: ['UNKNOWN'], limit: 3 });
        expect(first.map((record) => record.id)).toEqual(['aa1', 'ab4', 'ac5']);
        expect(await ids({ states: ['PENDING'], newestFirst: true, limit: 3 })).toHaveLength(3);
        expect(await ids({ limit: 8 })).toEqual([
          'aa1',
          'ab4',
          'ac5',
          'ac6',
          'new-0',
          'new-1',
          'new-2',
          'new-3',
        ]);
      });
    });

    test('counts what is there', async () => {
      expect(await store.count()).toMatchObject({
        pending: 0,
        unknown: 0,
        newestAt: null,
        newestEndAt: null,
      });
      await begin({ id: 'a' });
      await begin({ id: 'b' });
      await end(done, { id: 'b' });
      const ended = await store.find('b');
      await begin({ id: 'c' });
      await end(unknown, { id: 'c' });
      const newest = await store.find('c');
      expect(await store.count()).toMatchObject({
        ...{ pending: 1, unknown: 1 },
        newestAt: newest?.createdAt,
        newestEndAt: ended?.updatedAt,
      });
    });

    test('has a secret, and no loss; to accept none changes nothing', async () => {
      expect(store.secret).toMatch(/^[0-9a-f]{64}$/);
      expect(store.loss).toBeNull();
      await begin();
      await store.acceptLoss('Ada: for no reason');
      expect(store.loss).toBeNull();
      expect(await find()).toEqual(stored());
      expect(await begin({ id: 'b' })).toBeNull();
    });

    test('refuses every call after close, and closes twice', async () => {
      await store.close();
      await store.close();
      for (const call of [
        () => begin(),
        () => end(done),
        () => end(null),
        () => find(),
        () => store.search({ states: ['DONE'] }),
        () => store.count(),
        () => store.settle(id, 'DONE', 'ops'),
      ])
        await expect(call()).rejects.toThrow(StoreUnavailable);
    });
  });
}
