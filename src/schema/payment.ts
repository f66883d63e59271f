import { z } from 'zod';
import type { Account } from '../contract/account.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { type ErrorCode, errorCodes, isErrorCode } from '../errors.ts';
import type { Selection } from '../executor/selection.ts';
import { isObject } from '../is-object.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import { rejectionOf } from '../payments/payment-errors.ts';
import type { PaymentRecord } from '../payments/store.ts';
import { AccountRefObject, type NamedAccount } from './account-ref.ts';
import { builder } from './builder.ts';
import { type Context, type ReadContext, viewIdOr } from './context.ts';
import { type EstimateContext, type FieldExtensions, fieldExtensions } from './field-extensions.ts';
import { MoneyObject } from './fields.ts';
import { encodeGlobalId, forged, globalIdDescription, globalIdTypes } from './global-id.ts';
import { NodeInterface, nodeFromRecord, type ViewArgument, validateViewIds } from './node.ts';

export const PaymentObject = builder.objectRef<PaymentRecord>('Payment');

const globalIdKey = z.tuple([z.string()]);

// A payment's id is its Track-ID, which is found together with the caller. The bank is not called.
globalIdTypes.set('Payment', {
  bankIdField: null,
  entityKey: null,
  idsOf(key): { readonly trackId: string } {
    const { data } = globalIdKey.safeParse(key);
    if (data === undefined) throw forged();
    return { trackId: data[0] };
  },
  /** Null for everyone but the caller who made it. Errors: as those of `payment`. */
  load: ({ trackId }: { readonly trackId: string }, { payments, credentials }) =>
    payments.findByTrackId(credentials, trackId),
  estimate: (reference) => ({ type: 'Payment', parent: reference, hasRecord: true }),
});

/**
 * `id` and `status` of a payment's answer, if the bank sent them as text:
 * the specification does not define that body.
 */
export function receiptOf(answer: unknown): { transactionId: string | null; status: string | null } {
  const member = (name: string) => {
    const value = isObject(answer) ? answer[name] : null;
    return typeof value === 'string' ? value : null;
  };
  return { transactionId: member('id'), status: member('status') };
}

export const idempotencyKeyDescription =
  'From 1 to 255 printable ASCII characters, chosen by the client, a new one for each intended payment.';

const viewDescription = 'The view through which it is read; the configured default view if it is left out.';

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

/**
 * An account that a payment names. If its record cannot be read, such as that of a payee at another bank, the fields that need
 * the record fail one by one, and those that the ids answer stay.
 */
function namedAccount(
  idsOf: (payment: PaymentRecord, viewId: string) => ViewIds | null,
  more: Pick<FieldExtensions, 'nullMeansError'> = {},
) {
  const ids = (payment: PaymentRecord, { viewId }: ViewArgument, { defaults }: ReadContext) =>
    idsOf(payment, viewIdOr(defaults, viewId));
  const link = nodeFromRecord(
    'Account',
    ids,
    (_payment, unknownId, { viewId }, { defaults }) => ({
      bankId: unknownId(),
      accountId: unknownId(),
      viewId: viewIdOr(defaults, viewId),
    }),
    true,
  );
  const resolve = async (payment: PaymentRecord, args: ViewArgument, context: Context, info: Selection) => {
    const named = ids(payment, args, context);
    try {
      return await link.resolve(payment, args, context, info);
    } catch (error) {
      const record = new Proxy({} as Account, {
        get() {
          throw error;
        },
      });
      return named && { ...named, record };
    }
  };
  return { ...link, resolve, extensions: fieldExtensions({ ...link.extensions.bankql, ...more }) };
}

/** The options of a field with a member of the payment's record. */
const recorded = <Name extends keyof PaymentRecord>(name: Name, description: string) =>
  ({ nullable: false, description, resolve: (record: PaymentRecord) => record[name] }) as const;

const recordedTime = (name: 'createdAt' | 'updatedAt', description: string) => ({
  nullable: false as const,
  description,
  resolve: (record: PaymentRecord) => new Date(record[name]).toISOString(),
});

const payingAccount = (record: PaymentRecord, viewId: string): ViewIds =>
  validateViewIds(record.bankId, record.accountId, viewId);

const paidAccount = (record: PaymentRecord, viewId: string): ViewIds | null =>
  record.toAccountId ? validateViewIds(record.toBankId ?? record.bankId, record.toAccountId, viewId) : null;

/** Whether it is a record, and not one that an estimate knows nothing of. */
const isWhole = (record: Partial<PaymentRecord>): record is PaymentRecord => record.id !== undefined;

/** What the bank's answer to a payment names. */
export const receipt = (record: PaymentRecord) =>
  receiptOf(record.answer === null ? null : parseExactJson(record.answer));

/** The extensions of fields that find payments: they make no call, so that the links are planned as early as these. */
export const findsPayments = fieldExtensions({ estimateUnknown: () => ({ parent: {}, hasRecord: true }) });

function failureOf(record: PaymentRecord) {
  const { state, code, message } = record;
  return state === 'REJECTED' ? rejectionOf(record) : { code: isErrorCode(code) ? code : null, message };
}

PaymentObject.implement({
  description: "What bankql's record says of a payment. Costs no REST call but for the links.",
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description: `${globalIdDescription} Nobody but the payment's caller can follow it.`,
      resolve: ({ trackId }) => encodeGlobalId('Payment', JSON.stringify([trackId])),
    }),
    idempotencyKey: t.string({
      nullable: false,
      description: 'The idempotency key of the payment.',
      resolve: ({ idempotencyKey }) => idempotencyKey,
    }),
    state: t.field({
      type: PaymentState,
      nullable: false,
      description: 'Whether it is under way, done, refused or unknown.',
      resolve: (record) => record.state,
    }),
    operation: t.string(recorded('operation', "The REST operation's id.")),
    bankId: t.id(recorded('bankId', 'The code of the bank of the account that pays.')),
    accountId: t.id(recorded('accountId', 'The id of the account that pays.')),
    account: t.field({
      description: 'The account that pays. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      ...namedAccount(payingAccount, { nullMeansError: true }),
    }),
    toAccount: t.field({
      description:
        'The account that is paid, at the bank that pays if the payment names no other; null if it names no account. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      ...namedAccount(paidAccount),
    }),
    to: t.field({
      type: AccountRefObject,
      nullable: true,
      description:
        'Who is paid, as the payment names them; null if it names no account. Costs no REST call: the ids are there even if the caller may not read the account.',
      extensions: fieldExtensions({
        estimate: (record: Partial<PaymentRecord>, _args: object, { defaults }: EstimateContext) =>
          isWhole(record) ? { parent: payeeOf(record, defaults.viewId) } : null,
      }),
      resolve: (record, _args, { defaults }) =>
        record.toAccountId === null && record.toBankId === null ? null : payeeOf(record, defaults.viewId),
    }),
    transaction: t.field({
      description:
        'The transaction that `transactionId` names, of the account that pays; null if the bank named none. REST: getTransaction.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      ...nodeFromRecord(
        'Transaction',
        (payment: PaymentRecord, { viewId }: ViewArgument, { defaults }) => {
          const { transactionId } = receipt(payment);
          const account = transactionId && payingAccount(payment, viewIdOr(defaults, viewId));
          return account ? transactionIn(account, transactionId) : null;
        },
        (_payment, unknownId, { viewId }, { defaults }) =>
          transactionIn(validateViewIds(unknownId(), unknownId(), viewIdOr(defaults, viewId)), unknownId()),
      ),
    }),
    value: t.field({
      type: MoneyObject,
      nullable: true,
      description: 'What was to be moved; null if the request named no value. Costs no REST call.',
      resolve: ({ amount, currency }) => (amount === null && currency === null ? null : { amount, currency }),
    }),
    description: t.string({
      nullable: true,
      description: 'What it is for, as it was asked for; null for none.',
      resolve: (record) => record.description,
    }),
    trackId: t.id(recorded('trackId', "The Track-ID of the one REST call: the bank's operator can find it.")),
    createdAt: t.string(recordedTime('createdAt', 'When it was asked for, in UTC (ISO 8601).')),
    updatedAt: t.string(recordedTime('updatedAt', 'When its state last changed, in UTC (ISO 8601).')),
    transactionId: t.id({
      nullable: true,
      description: "The id that the bank's answer gave the transaction; null if it gave none.",
      resolve: (payment) => receipt(payment).transactionId,
    }),
    status: t.string({
      nullable: true,
      description: "The status in the bank's answer, in its own words; null if it gave none.",
      resolve: (payment) => receipt(payment).status,
    }),
    code: t.string({
      nullable: true,
      description: 'The code that the mutation answered with, where it failed.',
      deprecationReason: 'Use `failureCode`, which has the same values as an enum.',
      resolve: (record) => record.code,
    }),
    failureCode: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'Why it failed or is unknown; null if it did not fail, or nobody knows yet.',
      resolve: (record) => failureOf(record).code,
    }),
    failureMessage: t.string({
      nullable: true,
      description:
        "The message that the mutation answered with if it failed or is unknown, with the bank's text if it sent one.",
      resolve: (record) => failureOf(record).message,
    }),
  }),
});

const payeeOf = (
  { toBankId, toAccountId, bankId, accountId }: PaymentRecord,
  viewId: string,
): NamedAccount => ({
  named: { bank_id: toBankId, account_id: toAccountId },
  bankId,
  viewId,
  payer: { bankId, accountId, viewId },
});

/** The caller's payment with this key; null if there is no such payment. Errors: those of PaymentService.find. */
export const paymentByKey = (
  idempotencyKey: string,
  { payments, credentials }: Context,
): Promise<PaymentRecord | null> => payments.find(credentials, idempotencyKey);

builder.queryField('payment', (t) =>
  t.field({
    type: PaymentObject,
    nullable: true,
    description:
      "The calling customer's payment with this key, and its outcome. Null if there is no record of it: a request may still be on its way, so pay with no other key. An error if it was made with another subscription key, unless the server proves who callers are. Costs no REST call: bankql keeps it.",
    extensions: findsPayments,
    args: { idempotencyKey: t.arg.string({ required: true, description: idempotencyKeyDescription }) },
    resolve: (_root, { idempotencyKey }, context) => paymentByKey(idempotencyKey, context),
  }),
);
