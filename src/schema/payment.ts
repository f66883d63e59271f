import { validateId } from '../bank/ids.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { money } from '../contract/shared-parts.ts';
import { type ErrorCode, errorCodes, isErrorCode } from '../errors.ts';
import { isObject } from '../is-object.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { rejectionOf } from '../payments/errors.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import { Account } from './account.ts';
import { AccountRef } from './account-ref.ts';
import { builder } from './builder.ts';
import { type Defaults, type ResolverContext, viewIdOr } from './context.ts';
import { forged, globalIdTypes } from './plugin/global-id.ts';
import { Transaction } from './transaction.ts';

/** bankql's own records of payments. The bank is not called for them. */
export const PaymentObject = builder.objectRef<PaymentRecord>('Payment');

globalIdTypes.set('Payment', {
  bankIdField: null,
  idsOf([trackId, ...others]) {
    if (typeof trackId !== 'string' || others.length > 0) throw forged();
    return { trackId };
  },
  /** Null for every caller except the one who made the payment. Errors: those of `payment`. */
  load: ({ trackId }: Pick<PaymentRecord, 'trackId'>, { payments, credentials }) =>
    payments.findByTrackId(credentials, trackId),
});

export const idempotencyKeyDescription =
  'From 1 to 255 printable ASCII characters; a new one for each payment.';

const viewDescription = 'The view through which it is read; the configured one by default.';

export const PaymentState = builder.enumType('PaymentState', {
  description: 'The state of a payment.',
  values: {
    PENDING: { description: 'It is in progress, or its outcome is not recorded yet.' },
    DONE: { description: 'The bank confirmed it.' },
    REJECTED: { description: 'The bank did not execute it; nothing was moved.' },
    UNKNOWN: { description: 'It may have been executed, and is never sent again: ask the bank.' },
  },
});

/** The codes of errors as values, so that generated code knows them. */
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'The `extensions.code` of errors; later versions may have more.',
  values: Object.fromEntries(
    Object.entries(errorCodes).map(([code, { what }]) => [
      code,
      { value: code as ErrorCode, description: what },
    ]),
  ) as Record<ErrorCode, { value: ErrorCode; description: string }>,
});

/**
 * The account that pays. Errors: BAD_USER_INPUT if the id of the account or of its bank cannot be a segment
 * of a path.
 */
const payerOf = (payment: PaymentRecord, viewId: string | null | undefined, defaults: Defaults): ViewIds => ({
  bankId: validateId('bankId', payment.bankId),
  accountId: validateId('accountId', payment.accountId),
  viewId: viewIdOr(defaults, viewId),
});

/**
 * The id and the status in the bank's answer, as it is stored: the specification does not define that body. An integer is a text, as
 * in all answers.
 */
export function receiptOf({ answer }: Pick<PaymentRecord, 'answer'>) {
  const body = answer === null ? null : parseExactJson(answer);
  const member = (name: string) => {
    const value = isObject(body) ? body[name] : null;
    return typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : null;
  };
  return { transactionId: member('id'), status: member('status') };
}

function failureOf(payment: PaymentRecord) {
  const { state, code, message } = payment;
  return state === 'REJECTED' ? rejectionOf(payment) : { code: isErrorCode(code) ? code : null, message };
}

PaymentObject.implement({
  description: "bankql's record of a payment.",
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.globalId({
      description: "Globally unique; only the payment's caller can read it by `node`.",
      key: ({ trackId }) => [trackId],
    }),
    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: false,
      description: 'The idempotency key of the payment; empty if its record has lost it.',
    }),
    state: t.expose('state', {
      type: PaymentState,
      nullable: false,
      description: 'The state: in progress, done, refused or unknown.',
    }),
    operation: t.exposeString('operation', {
      nullable: false,
      description: 'The id of the bank operation that made it.',
    }),
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: 'The code of the bank of the account that pays.',
    }),
    accountId: t.exposeID('accountId', { nullable: false, description: 'The id of the account that pays.' }),
    account: t.link(Account, {
      description: 'The account that pays.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      ids: (payment, { viewId }, { defaults }) => payerOf(payment, viewId, defaults),
    }),
    to: t.field({
      type: AccountRef,
      description: 'Who is paid; null if the payment names no account.',
      resolve({ toBankId, toAccountId, bankId, accountId }, _args, { bankql }) {
        if (toAccountId === null && toBankId === null) return null;
        const record = { bank_id: toBankId, account_id: toAccountId };
        return { record, bankId, accountId, viewId: bankql.defaults.viewId };
      },
    }),
    transaction: t.link(Transaction, {
      description: 'The transaction; null without a `transactionId`.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      ids: (payment, { viewId }, { defaults }) => {
        const { transactionId } = receiptOf(payment);
        return transactionId ? transactionIn(payerOf(payment, viewId, defaults), transactionId) : null;
      },
    }),
    value: t.field({
      type: builder.bankObject(money),
      description: 'The requested amount; null if the request named none.',
      resolve: ({ amount, currency }) => (amount === null && currency === null ? null : { amount, currency }),
    }),
    description: t.exposeString('description', {
      description: 'The purpose in the request for the payment; null if there was none.',
    }),
    trackId: t.exposeID('trackId', {
      nullable: false,
      description: "The Track-ID with which it was sent, by which the bank's operator can find it.",
    }),
    createdAt: t.field({
      type: 'DateTime',
      nullable: false,
      description: 'When the payment was requested.',
      resolve: ({ createdAt }) => new Date(createdAt),
    }),
    updatedAt: t.field({
      type: 'DateTime',
      nullable: false,
      description: 'When its state last changed.',
      resolve: ({ updatedAt }) => new Date(updatedAt),
    }),
    transactionId: t.id({
      description: "The transaction's id in the bank's answer; null if none is found.",
      resolve: (payment) => receiptOf(payment).transactionId,
    }),
    status: t.string({
      description: "The status in the bank's answer, in its words; null if none is found.",
      resolve: (payment) => receiptOf(payment).status,
    }),
    failureCode: t.field({
      type: ErrorCodeEnum,
      description: 'Why it failed or is unknown; null if it has not failed, or not yet.',
      resolve: (payment) => failureOf(payment).code,
    }),
    failureMessage: t.string({
      description: "Why it failed or is unknown, with the bank's text if it sent one.",
      resolve: (payment) => failureOf(payment).message,
    }),
  }),
});

builder.queryField('payment', (t) =>
  t.field({
    type: PaymentObject,
    description:
      "The caller's payment with this key; null if there is no record, but it may still have been sent, so do not pay with another key.",
    args: { idempotencyKey: t.arg.string({ required: true, description: idempotencyKeyDescription }) },
    resolve: (_root, { idempotencyKey }, { bankql: { payments, credentials } }: ResolverContext) =>
      payments.find(credentials, idempotencyKey),
  }),
);
