import { expect, test } from 'vitest';
import type { PaymentRecord } from '../../src/payments/store.ts';
import type { Told } from '../support/payment-client.ts';
import type { BankEntry, ClientEntry, PaymentHistory } from '../support/payment-history.ts';
import { type Invariant, invariants, violationsOf } from '../support/payment-invariants.ts';
import { pending } from './stores/store-conformance.ts';

const deadlineMs = 1000;
const payment = { account: 'a', key: 'k' };

const told = (code: string, change: Partial<Told> = {}): Told => ({
  code,
  trackId: 't1',
  replayed: false,
  transactionId: null,
  idempotencyKey: payment.key,
  status: null,
  message: null,
  retryAfter: null,
  ...change,
});
const asked = (began: number, answer: Told | null, change: Partial<ClientEntry> = {}): ClientEntry => ({
  ...{ payment, amount: '1.00', began, ended: began + 50, told: answer, phase: 'history' },
  ...change,
});
const received = (at: number, change: Partial<BankEntry> = {}, trackId = 't1'): BankEntry => ({
  arrived: { method: 'POST', path: '', account: 'a', trackId, body: '', connection: 1, nth: 1 },
  ...{ amount: '1.00', leftAt: at, at, name: 'accept', ends: 'DONE', executed: true },
  ...change,
});
const kept = (change: Partial<PaymentRecord>): PaymentRecord => ({
  ...pending(),
  ...{ accountId: 'a', trackId: 't1', amount: '1.00', state: 'DONE' },
  ...change,
});
const logged = (state: string, trackId = 't1') => ({ state, trackId, begunAt: 0 });

/** A payment that was accepted, and asked for again. */
const sound: PaymentHistory = {
  clients: [
    asked(0, told('DONE', { transactionId: 'tx-t1' })),
    asked(100, told('DONE', { replayed: true, transactionId: 'tx-t1' })),
  ],
  bank: [received(20)],
  records: [kept({})],
  audit: [logged('PENDING'), logged('DONE')],
  deadlineMs,
};
/** One that the bank did not answer. */
const unknown: PaymentHistory = {
  clients: [asked(0, told('OUTCOME_UNKNOWN'), { ended: deadlineMs }), asked(1100, told('OUTCOME_UNKNOWN'))],
  bank: [received(20, { name: 'hang', ends: 'UNKNOWN' })],
  records: [kept({ state: 'UNKNOWN' })],
  audit: [logged('PENDING'), logged('UNKNOWN')],
  deadlineMs,
};

test.each([
  ['accepted', sound],
  ['of unknown outcome', unknown],
  [
    'not sent, asked for meanwhile, and then sent',
    {
      ...sound,
      clients: [
        asked(0, told('BANK_UNAVAILABLE', { trackId: 't0', message: 'nothing was sent' })),
        asked(1, told('IDEMPOTENCY_IN_PROGRESS', { trackId: 't0' })),
        asked(100, told('DONE')),
      ],
      bank: [received(120)],
      audit: [...sound.audit, logged('PENDING', 't0'), logged('NOT_SENT', 't0')],
    },
  ],
])('a payment that is %s breaks no invariant', (_, history) => {
  expect(violationsOf(history)).toEqual([]);
});

const broken: readonly [invariant: Invariant, how: string, history: PaymentHistory][] = [
  [
    'at most one POST for a key while the store keeps its records',
    'two requests',
    {
      ...sound,
      bank: [received(20), received(30, {}, 't2')],
      audit: [...sound.audit, logged('PENDING', 't2')],
    },
  ],
  [
    'DONE only with a POST',
    'a record that is DONE of nothing',
    { ...sound, bank: [], clients: [asked(0, null)] },
  ],
  [
    'DONE only with a POST',
    'an answer that is DONE of a payment that the bank refused',
    { ...sound, bank: [received(20, { ends: 'REJECTED', executed: false, name: 'refuse' })] },
  ],
  [
    'REJECTED or reopened only without an execution',
    'a refusal of a payment that the bank executed',
    { ...unknown, clients: [asked(0, told('BANK_REJECTED'))], records: [kept({ state: 'REJECTED' })] },
  ],
  [
    'REJECTED or reopened only without an execution',
    'a key that was made free although the bank got the payment',
    { ...unknown, audit: [logged('PENDING'), logged('NOT_SENT')] },
  ],
  [
    'a replay gives the first answer',
    'two answers as if for the first time',
    { ...sound, clients: [asked(0, told('DONE')), asked(100, told('DONE'))] },
  ],
  [
    'a replay gives the first answer',
    'the answer to another payment',
    { ...sound, clients: [asked(0, told('DONE', { transactionId: 'tx-t2' }))] },
  ],
  [
    'a replay gives the first answer',
    'the answer to another amount',
    { ...sound, clients: [asked(0, told('DONE'), { amount: '2.00' })] },
  ],
  [
    'no answer claims that nothing was sent where it was',
    'BANK_UNAVAILABLE for a request that arrived',
    { ...unknown, clients: [asked(0, told('BANK_UNAVAILABLE'))] },
  ],
  [
    'no answer claims that nothing was sent where it was',
    'words that say so after a request with the key had arrived',
    {
      ...unknown,
      clients: [
        asked(2000, told('STATE_UNAVAILABLE', { trackId: null, message: 'The payment was not sent.' })),
      ],
    },
  ],
  [
    'a payment is called unknown only once it was given up',
    'before its deadline, while it is under way',
    { ...sound, clients: [asked(100, told('OUTCOME_UNKNOWN'))] },
  ],
  [
    'a payment is called unknown only once it was given up',
    'and sent afterwards',
    { ...sound, clients: [asked(5000, told('OUTCOME_UNKNOWN'))], bank: [received(6000)] },
  ],
  [
    'what is sent has its record, and a line in the audit log',
    'a request without a record',
    { ...unknown, records: [] },
  ],
  [
    'what is sent has its record, and a line in the audit log',
    'a request without a line',
    { ...unknown, audit: [] },
  ],
  [
    'every request has an answer that is one to a payment',
    'none when all is well',
    { ...sound, clients: [asked(0, null, { phase: 'last word' })] },
  ],
  [
    'every request has an answer that is one to a payment',
    'another code',
    { ...sound, clients: [asked(0, told('INTERNAL'))] },
  ],
];

test.each(broken)('"%s" is broken by %s', (invariant, _, history) => {
  expect(violationsOf(history).map((violation) => violation.invariant)).toContain(invariant);
});

test('each invariant has a history that breaks it', () => {
  expect(new Set(broken.map(([invariant]) => invariant))).toEqual(new Set(Object.keys(invariants)));
});
