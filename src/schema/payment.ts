import type { GraphQLField } from 'graphql';
import { validateBankId } from '../bank/ids.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import { badUserInput } from '../errors.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import { type Context, type ReadContext, viewIdOr } from './context.ts';
import { isPositive } from './decimal.ts';
import {
  type EstimateContext,
  fieldExtensions,
  fieldExtensionsOf,
  type KnownObject,
} from './field-extensions.ts';
import { MoneyObject } from './fields.ts';
import { idempotencyKeyDescription } from './idempotency-key.ts';
import { nodeTypeOf, type ViewArgument, validateViewIds } from './node.ts';
import { type FoundPayment, PaymentObject, paymentNode } from './payment-node.ts';

/** The extensions of a mutation field that makes a payment; `estimate` as in field-extensions.ts. */
export const paymentExtensions = <Args>(
  estimate: (root: object, args: Args, context: EstimateContext) => KnownObject | null,
) => fieldExtensions({ payment: true, estimate });

/** Whether a field makes a payment. */
export const isPayment = (field: GraphQLField<unknown, unknown>): boolean =>
  fieldExtensionsOf(field).payment === true;

/** Errors: BAD_USER_INPUT for an amount that is zero or negative. */
export function validatePaymentAmount(amount: string | undefined): void {
  if (amount !== undefined && !isPositive(amount))
    throw badUserInput('The value.amount of a payment has to be more than zero.');
}

/**
 * `id` and `status` of a payment's answer, if the bank sent them as text:
 * the specification does not define that body.
 */
export function receiptOf(answer: unknown): { transactionId: string | null; status: string | null } {
  const member = (name: string) => {
    const value: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, name) : null;
    return typeof value === 'string' ? value : null;
  };
  return { transactionId: member('id'), status: member('status') };
}

/** The transaction that a payment's answer names. Errors: BANK_BAD_RESPONSE if it cannot be read. */
export const paidTransaction = ({ bankId, accountId, viewId }: ViewIds, transactionId: string) => ({
  bankId,
  accountId,
  viewId,
  transactionId: validateBankId('a transaction', transactionId),
});

const viewDescription = 'The view through which it is read; the configured default view where left out.';

export const PaymentState = builder.enumType('PaymentState', {
  description:
    'PENDING: under way, or its end not yet recorded. UNKNOWN: it may have been executed; bankql never sends it again.',
  values: {
    PENDING: { description: 'Under way, or its end not yet recorded.' },
    DONE: { description: 'The bank accepted it.' },
    REJECTED: { description: 'The bank refused it; nothing was moved.' },
    UNKNOWN: { description: 'It may have been executed; bankql never sends it again.' },
  },
});

const receipt = ({ record }: FoundPayment) =>
  receiptOf(record.answer === null ? null : parseExactJson(record.answer));

/** An account that a record names, through the default view unless another is given. */
const accountOf = (
  bankId: string,
  accountId: string,
  viewId: string | null | undefined,
  { defaults }: ReadContext,
): ViewIds => validateViewIds(bankId, accountId, viewIdOr(defaults, viewId));

/** The extensions of a link of a payment, whose record is not read for a plan. */
const planned = (lead: (ids: ViewIds, context: EstimateContext, unknownId: () => string) => KnownObject) =>
  fieldExtensions({
    estimateUnknown: (_payment: object, { viewId }: ViewArgument, context, unknownId) =>
      lead(accountOf(unknownId(), unknownId(), viewId, context), context, unknownId),
  });

/** The extensions of fields that find payments: they make no call, so that the links are planned as early as these. */
export const findsPayments = fieldExtensions({ estimateUnknown: () => ({ parent: {}, hasRecord: true }) });

PaymentObject.implement({
  description: "What bankql's record says of a payment. Costs no REST call but for the links.",
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(paymentNode.idField),
    idempotencyKey: t.exposeString('idempotencyKey', {
      nullable: false,
      description:
        'The key it was asked for with. Empty, in the list of `payments` alone, for a payment from before bankql kept keys.',
    }),
    state: t.field({
      type: PaymentState,
      nullable: false,
      description: 'How far it is.',
      resolve: ({ record }) => record.state,
    }),
    operation: t.string({
      nullable: false,
      description: "The REST operation's id.",
      resolve: ({ record }) => record.operation,
    }),
    bankId: t.id({
      nullable: false,
      description: "The path's bank.",
      resolve: ({ record }) => record.bankId,
    }),
    accountId: t.id({
      nullable: false,
      description: 'The account.',
      resolve: ({ record }) => record.accountId,
    }),
    account: t.field({
      type: nodeTypeOf('Account').object,
      nullable: true,
      description: 'The account that pays. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      extensions: planned((ids, context) => nodeTypeOf('Account').estimate(ids, context)),
      resolve: ({ record }, { viewId }, context, info) =>
        nodeTypeOf('Account').load(
          accountOf(record.bankId, record.accountId, viewId, context),
          context,
          info,
        ),
    }),
    toAccount: t.field({
      type: nodeTypeOf('Account').object,
      nullable: true,
      description:
        'The account that is paid, at the bank that pays where the payment names no other; null where it names no account. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      extensions: planned((ids, context) => nodeTypeOf('Account').estimate(ids, context)),
      resolve: ({ record }, { viewId }, context, info) => {
        const { toAccountId, toBankId, bankId } = record;
        if (!toAccountId) return null;
        return nodeTypeOf('Account').load(
          accountOf(toBankId ?? bankId, toAccountId, viewId, context),
          context,
          info,
        );
      },
    }),
    transaction: t.field({
      type: nodeTypeOf('Transaction').object,
      nullable: true,
      description:
        'The transaction that `transactionId` names, of the account that pays; null where the bank named none. REST: getTransaction.',
      args: { viewId: t.arg.id({ description: viewDescription }) },
      extensions: planned((ids, context, unknownId) =>
        nodeTypeOf('Transaction').estimate(paidTransaction(ids, unknownId()), context),
      ),
      resolve: (payment, { viewId }, context, info) => {
        const { bankId, accountId } = payment.record;
        const { transactionId } = receipt(payment);
        if (!transactionId) return null;
        const account = accountOf(bankId, accountId, viewId, context);
        return nodeTypeOf('Transaction').load(paidTransaction(account, transactionId), context, info);
      },
    }),
    value: t.field({
      type: MoneyObject,
      nullable: true,
      description: 'What was to be moved.',
      resolve: ({ record: { amount, currency } }) =>
        amount === null && currency === null ? null : { amount, currency },
    }),
    trackId: t.id({
      nullable: false,
      description: "The Track-ID of the one REST call: the bank's operator can find it.",
      resolve: ({ record }) => record.trackId,
    }),
    createdAt: t.string({
      nullable: false,
      description: 'ISO 8601, UTC.',
      resolve: ({ record }) => new Date(record.createdAt).toISOString(),
    }),
    updatedAt: t.string({
      nullable: false,
      description: 'ISO 8601, UTC.',
      resolve: ({ record }) => new Date(record.updatedAt).toISOString(),
    }),
    transactionId: t.id({
      nullable: true,
      description: "As in the mutation's payload, where the bank gave it.",
      resolve: (payment) => receipt(payment).transactionId,
    }),
    status: t.string({
      nullable: true,
      description: "As in the mutation's payload, where the bank gave it.",
      resolve: (payment) => receipt(payment).status,
    }),
    code: t.string({
      nullable: true,
      description: 'The code that the mutation answered with, where it failed.',
      resolve: ({ record }) => record.code,
    }),
  }),
});

/** The caller's payment with this key; null if there is none. Errors: those of PaymentService.find. */
export async function paymentByKey(
  idempotencyKey: string,
  { payments, credentials }: Context,
): Promise<FoundPayment | null> {
  const record = await payments.find(credentials, idempotencyKey);
  return record === null ? null : { idempotencyKey, record };
}

builder.queryField('payment', (t) =>
  t.field({
    type: PaymentObject,
    nullable: true,
    description:
      "What became of the calling customer's payment with this key; null where there is none. Sends nothing to the bank.",
    extensions: findsPayments,
    args: { idempotencyKey: t.arg.string({ required: true, description: idempotencyKeyDescription }) },
    resolve: (_root, { idempotencyKey }, context) => paymentByKey(idempotencyKey, context),
  }),
);
