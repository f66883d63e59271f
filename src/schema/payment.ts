import { validateId } from '../bank/ids.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { type ErrorCode, errorCodes, isErrorCode } from '../errors.ts';
import { isObject } from '../is-object.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { rejectionOf } from '../payments/payment-errors.ts';
import type { PaymentRecord } from '../payments/store.ts';
import { accountNode } from './account.ts';
import { AccountRefObject, type NamedAccount } from './account-ref.ts';
import { builder } from './builder.ts';
import { type Context, viewIdOr } from './context.ts';
import { MoneyObject } from './fields.ts';
import { encodeGlobalId, forged, globalIdDescription, globalIdTypes } from './global-id.ts';
import { link } from './link.ts';
import { NodeInterface } from './node.ts';
import { transactionNode } from './transaction.ts';

/** bankql's own records of payments. The bank is not called for them. */
export const PaymentObject = builder.objectRef<PaymentRecord>('Payment');

globalIdTypes.set('Payment', {
  bankIdField: null,
  idsOf(key) {
    if (!Array.isArray(key) || key.length !== 1 || typeof key[0] !== 'string') throw forged();
    return { trackId: key[0] };
  },
  /** Null for everyone but the caller who made it. Errors: as those of `payment`. */
  load: ({ trackId }: Pick<PaymentRecord, 'trackId'>, { payments, credentials }) =>
    payments.findByTrackId(credentials, trackId),
});

export const idempotencyKeyDescription =
  'From 1 to 255 printable ASCII characters, chosen by the client, a new one for each intended payment.';

const viewDescription = 'The view through which it is read; the configured one by default.';

export const PaymentState = builder.enumType('PaymentState', {
  description:
    'How far a payment is. After UNKNOWN nothing is sent again under its idempotency key: ask the bank.',
  values: {
    PENDING: { description: 'Under way, or its end not yet recorded.' },
    DONE: { description: 'The bank confirmed it.' },
    REJECTED: { description: 'The bank refused it; nothing was moved.' },
    UNKNOWN: { description: 'It may have been executed; bankql never sends it again.' },
  },
});

/** The codes of errors as values, so that generated code knows them. */
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'Why something failed: the `extensions.code` of errors. Later versions may have more values.',
  values: Object.fromEntries(
    Object.entries(errorCodes).map(([code, { what }]) => [
      code,
      { value: code as ErrorCode, description: what },
    ]),
  ) as Record<ErrorCode, { value: ErrorCode; description: string }>,
});

/** Errors: BAD_USER_INPUT if one of them is not a valid id. */
const validateViewIds = (bankId: string, accountId: string, viewId: string): ViewIds => ({
  bankId: validateId('bankId', bankId),
  accountId: validateId('accountId', accountId),
  viewId: validateId('viewId', viewId),
});

const payingAccount = ({ bankId, accountId }: PaymentRecord, viewId: string): ViewIds =>
  validateViewIds(bankId, accountId, viewId);

const paidAccount = ({ bankId, toBankId, toAccountId }: PaymentRecord, viewId: string): ViewIds | null =>
  toAccountId ? validateViewIds(toBankId ?? bankId, toAccountId, viewId) : null;

const payeeOf = (
  { toBankId, toAccountId, bankId, accountId }: PaymentRecord,
  viewId: string,
): NamedAccount => ({
  named: { bank_id: toBankId, account_id: toAccountId },
  bankId,
  viewId,
  payer: { bankId, accountId, viewId },
});

/** `id` and `status` of the bank's answer, if it sent them as text: the specification does not define that body. */
export function receiptOf({ answer }: Pick<PaymentRecord, 'answer'>) {
  const body = answer === null ? null : parseExactJson(answer);
  const member = (name: string) => {
    const value = isObject(body) ? body[name] : null;
    return typeof value === 'string' ? value : null;
  };
  return { transactionId: member('id'), status: member('status') };
}

function failureOf(payment: PaymentRecord) {
  const { state, code, message } = payment;
  return state === 'REJECTED' ? rejectionOf(payment) : { code: isErrorCode(code) ? code : null, message };
}

const timeDescription = 'in UTC (ISO 8601).';

PaymentObject.implement({
  description: "What bankql's record says of a payment. Costs no REST call but for the links.",
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description: `${globalIdDescription} Nobody but the payment's caller can follow it.`,
      resolve: ({ trackId }) => encodeGlobalId('Payment', JSON.stringify([trackId])),
    }),
    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: false,
      description: 'The idempotency key of the payment.',
    }),
    state: t.expose('state', {
      type: PaymentState,
      nullable: false,
      description: 'Whether it is under way, done, refused or unknown.',
    }),
    operation: t.exposeString('operation', { nullable: false, description: "The REST operation's id." }),
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: 'The code of the bank of the account that pays.',
    }),
    accountId: t.exposeID('accountId', { nullable: false, description: 'The id of the account that pays.' }),
    account: link(t, accountNode, {
      description: 'The account that pays. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      fromRecord: true,
      ids: (payment, { viewId }, { defaults }) => payingAccount(payment, viewIdOr(defaults, viewId)),
    }),
    toAccount: link(t, accountNode, {
      description:
        'The account that is paid, at the bank that pays if the payment names no other; null if it names no account. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      fromRecord: true,
      ids: (payment, { viewId }, { defaults }) => paidAccount(payment, viewIdOr(defaults, viewId)),
    }),
    to: t.field({
      type: AccountRefObject,
      description:
        'Who is paid, as the payment names them; null if it names no account. Costs no REST call: the ids are there even if the caller may not read the account.',
      resolve: (payment, _args, { defaults }) =>
        payment.toAccountId === null && payment.toBankId === null ? null : payeeOf(payment, defaults.viewId),
    }),
    transaction: link(t, transactionNode, {
      description:
        'The transaction that `transactionId` names, of the account that pays; null if the bank named none. REST: getTransaction.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      fromRecord: true,
      ids: (payment, { viewId }, { defaults }) => {
        const { transactionId } = receiptOf(payment);
        const account = transactionId && payingAccount(payment, viewIdOr(defaults, viewId));
        return account ? transactionIn(account, transactionId) : null;
      },
    }),
    value: t.field({
      type: MoneyObject,
      description: 'What was to be moved; null if the request named no value. Costs no REST call.',
      resolve: ({ amount, currency }) => (amount === null && currency === null ? null : { amount, currency }),
    }),
    description: t.exposeString('description', {
      description: 'What it is for, as it was asked for; null for none.',
    }),
    trackId: t.exposeID('trackId', {
      nullable: false,
      description: "The Track-ID of the one REST call: the bank's operator can find it.",
    }),
    createdAt: t.string({
      nullable: false,
      description: `When it was asked for, ${timeDescription}`,
      resolve: ({ createdAt }) => new Date(createdAt).toISOString(),
    }),
    updatedAt: t.string({
      nullable: false,
      description: `When its state last changed, ${timeDescription}`,
      resolve: ({ updatedAt }) => new Date(updatedAt).toISOString(),
    }),
    transactionId: t.id({
      description: "The id that the bank's answer gave the transaction; null if it gave none.",
      resolve: (payment) => receiptOf(payment).transactionId,
    }),
    status: t.string({
      description: "The status in the bank's answer, in its own words; null if it gave none.",
      resolve: (payment) => receiptOf(payment).status,
    }),
    code: t.exposeString('code', {
      description: 'The code that the mutation answered with, where it failed.',
      deprecationReason: 'Use `failureCode`, which has the same values as an enum.',
    }),
    failureCode: t.field({
      type: ErrorCodeEnum,
      description: 'Why it failed or is unknown; null if it did not fail, or nobody knows yet.',
      resolve: (payment) => failureOf(payment).code,
    }),
    failureMessage: t.string({
      description:
        "The message that the mutation answered with if it failed or is unknown, with the bank's text if it sent one.",
      resolve: (payment) => failureOf(payment).message,
    }),
  }),
});

builder.queryField('payment', (t) =>
  t.field({
    type: PaymentObject,
    description:
      "The calling customer's payment with this key, and its outcome. Null if there is no record of it: a request may still be on its way, so pay with no other key. An error if it was made with another subscription key, unless the server proves who callers are. Costs no REST call: bankql keeps it.",
    args: { idempotencyKey: t.arg.string({ required: true, description: idempotencyKeyDescription }) },
    resolve: (_root, { idempotencyKey }, { payments, credentials }: Context) =>
      payments.find(credentials, idempotencyKey),
  }),
);
