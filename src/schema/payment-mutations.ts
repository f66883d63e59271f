import type { InputShapeFromFields } from '@pothos/core';
import { type GraphQLResolveInfo, getNamedType } from 'graphql';
import { amount, money } from '../contract/shared-parts.ts';
import { postMakeTransaction } from '../contract/transaction.ts';
import { putTransactionsRequestAccount } from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { selects } from '../executor/selection.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import type { PaymentOperation } from '../payments/service.ts';
import { builder, type InputFields, type ObjectFields } from './builder.ts';
import { bankIdDescription, bankIdOr, type Context, type Defaults, viewIdOr } from './context.ts';
import { PayeeInput, payeeBody, readablePayeeBody } from './payee.ts';
import { ErrorCodeEnum, idempotencyKeyDescription, PaymentObject } from './payment.ts';
import { restId } from './plugin/global-id.ts';
import { omitNullish, toBody } from './request-body.ts';
import { calls } from './rest-extensions.ts';
import { isPositive } from './scalars.ts';
import { TransactionRequest } from './transaction-request.ts';

/** The mutations that make payments, one for each of the bank's two operations. A payment that fails is data: see `payloadOf`. */

/** The fields that the inputs of both mutations have. */
const paymentFields = (t: InputFields) => ({
  bankId: t.id({ description: bankIdDescription }),
  accountId: t.id({ required: true, description: 'The id at the bank of the account that pays.' }),
  to: t.field({
    type: PayeeInput,
    required: true,
    description: 'The payee, whose ids have up to 128 characters.',
  }),
  description: t.string({ description: 'The purpose of the payment, in up to 512 characters.' }),
  challengeType: t.string({ description: 'How the customer confirms the payment.' }),
  idempotencyKey: t.string({ required: true, description: idempotencyKeyDescription }),
});

const valueDescription = 'The amount, above zero, and its currency, of up to 16 characters.';

const makeTransactionFields = (t: InputFields) => ({
  ...paymentFields(t),
  value: t.field({ type: builder.bankInput(amount), required: true, description: valueDescription }),
});

const transactionRequestFields = (t: InputFields) => ({
  ...paymentFields(t),
  value: t.field({ type: builder.bankInput(money), description: valueDescription }),
  viewId: t.id({ description: 'The view of the account; the configured one by default.' }),
  transactionRequestType: t.string({
    required: true,
    description: 'The type of request, such as `SEPA`: the path segment `{TYPE}`.',
  }),
});

type MakeTransactionInput = InputShapeFromFields<ReturnType<typeof makeTransactionFields>>;
type TransactionRequestInput = InputShapeFromFields<ReturnType<typeof transactionRequestFields>>;

/** Errors: BAD_USER_INPUT for an amount that is zero or negative. */
function checkAmount(value: { readonly amount?: string | null | undefined } | null | undefined): void {
  if (value?.amount != null && !isPositive(value.amount))
    throw badUserInput('The value.amount of a payment has to be more than zero.', 'value.amount');
}

/** The call of a transfer. Errors: BAD_USER_INPUT. */
function transferOf(input: MakeTransactionInput, defaults: Defaults) {
  const bankId = bankIdOr(defaults, input.bankId);
  const accountId = restId('accountId', input.accountId);
  checkAmount(input.value);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    from: { bank_id: bankId, account_id: accountId },
    to: readablePayeeBody(input.to),
    value: toBody(amount, input.value, 'value.'),
  });
  return { ids: { bankId, accountId, viewId: defaults.viewId }, body };
}

/** The ids and the body of a transaction request. Errors: BAD_USER_INPUT. */
function requestOf(input: TransactionRequestInput, defaults: Defaults) {
  const ids = {
    bankId: bankIdOr(defaults, input.bankId),
    accountId: restId('accountId', input.accountId),
    viewId: viewIdOr(defaults, input.viewId),
    TYPE: restId('transactionRequestType', input.transactionRequestType),
  };
  const value = input.value == null ? undefined : toBody(money, input.value, 'value.');
  checkAmount(value);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    to: payeeBody(input.to),
    value,
  });
  return { ids, body };
}

/** An error as data. It is no Error, which the executor would treat as a failure of the field. */
type ErrorAsData = Pick<BankqlError, 'code' | 'message' | 'extensions'>;

/** The result of an attempt to pay, for the payloads. */
interface PaymentPayload {
  readonly idempotencyKey: string;
  /** The Track-ID of the payment that this request made or repeated; null if no payment began. */
  readonly trackId: string | null;
  /** The record of a payment that is done. */
  readonly record: PaymentRecord | null;
  readonly replayed: boolean;
  /** The transaction requests in the bank's answer. */
  readonly transactionRequests?: readonly (typeof TransactionRequest.$inferType)[] | null;
  readonly userErrors: readonly ErrorAsData[];
}

/** bankql's record of the payment. Errors: STATE_UNAVAILABLE. */
async function paymentOf(
  { idempotencyKey, trackId, record }: PaymentPayload,
  { payments, credentials }: Context,
): Promise<PaymentRecord | null> {
  if (record !== null || trackId === null) return record;
  const found = await payments.find(credentials, idempotencyKey);
  // If the key has become free again, another payment may have it by now.
  return found?.trackId === trackId ? found : null;
}

const UserError = builder.objectRef<ErrorAsData>('UserError').implement({
  description: 'The reason why a payment is not done, or may not be done.',
  fields: (t) => ({
    code: t.field({
      type: ErrorCodeEnum,
      nullable: false,
      description: 'The reason, on which it depends what an app has to do.',
      resolve: ({ code }) => code,
    }),
    message: t.exposeString('message', {
      nullable: false,
      description: "For developers and support, with the bank's text if it sent one.",
    }),
    argument: t.field({
      type: ['String'],
      description: 'The path of the invalid input, such as `["to", "bankId"]`; else null.',
      resolve: ({ extensions }) => extensions.argument,
    }),
    retryable: t.boolean({
      nullable: false,
      description: 'Whether the same request, with the same key, may be sent again.',
      resolve: ({ extensions }) => extensions.retryable,
    }),
    retryAfter: t.float({
      description: 'The number of seconds to wait before a retry.',
      resolve: ({ extensions }) => extensions.retryAfter,
    }),
    trackId: t.id({
      description: 'The Track-ID of the attempt; null if none began, or the bank refused it unread.',
      resolve: ({ extensions }) => extensions.trackId,
    }),
  }),
});

/** The fields of both payloads. */
const payloadFields = (t: ObjectFields<PaymentPayload>) => ({
  payment: t.field({
    type: PaymentObject,
    description: "bankql's record of this payment, whatever its outcome; null if it has none.",
    resolve: (payload, _args, { bankql }) => paymentOf(payload, bankql),
  }),
  replayed: t.exposeBoolean('replayed', {
    nullable: false,
    description: 'Whether this is the stored answer to an earlier call with this key.',
  }),
  userErrors: t.expose('userErrors', {
    type: [UserError],
    nullable: { list: false, items: false },
    description: 'Why the payment is not done, or may not be done; empty if it is done.',
  }),
});

/**
 * The payload of a payment. A failure is data if the document selects a field that shows it: `userErrors` shows every failure,
 * and `payment { state }` the failure of a payment with a record. If a document selects neither, its client would take the
 * payload for a success, so the failure is thrown. Errors: those of `send`, unless they are data; CALL_BUDGET_EXCEEDED if the
 * operation has made all its REST calls.
 */
async function payloadOf(
  operation: PaymentOperation,
  idempotencyKey: string,
  context: Context,
  info: GraphQLResolveInfo,
  send: () => Promise<Omit<PaymentPayload, 'idempotencyKey' | 'userErrors'>>,
): Promise<PaymentPayload> {
  const { session } = context;
  try {
    session.checkPayment(operation);
    return { ...(await send()), idempotencyKey, userErrors: [] };
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    const { code, message, extensions } = error;
    const { trackId = null } = extensions;
    const userErrors = [{ code, message, extensions }];
    const failed = { record: null, replayed: false, idempotencyKey, trackId, userErrors };
    const { name } = getNamedType(info.returnType);
    const isShown =
      selects(info, name, 'userErrors') ||
      (selects(info, name, 'payment', 'state') &&
        (await paymentOf(failed, context).catch(() => null)) !== null);
    if (!isShown) throw error;
    context.noteFailure(code);
    return failed;
  } finally {
    session.invalidate();
  }
}

const atMostOnce = 'at most once for an idempotency key.';

builder.relayMutationField(
  'makeTransaction',
  { description: 'The transfer to make.', inputFields: makeTransactionFields },
  {
    description: `Moves money, ${atMostOnce}`,
    extensions: calls(postMakeTransaction),
    payment: true,
    resolve: (_root, { input }, { bankql }, info) =>
      payloadOf(postMakeTransaction, input.idempotencyKey, bankql, info, async () => {
        const { payments, credentials, defaults } = bankql;
        return payments.pay(postMakeTransaction, {
          input: { ...transferOf(input, defaults), credentials },
          idempotencyKey: input.idempotencyKey,
        });
      }),
  },
  {
    description: 'How a transfer ended; it is done if `userErrors` is empty.',
    outputFields: payloadFields,
  },
);

builder.relayMutationField(
  'putTransactionRequest',
  { description: 'The transaction to ask for.', inputFields: transactionRequestFields },
  {
    description: `Asks for a transaction, ${atMostOnce}`,
    extensions: calls(putTransactionsRequestAccount),
    payment: true,
    resolve: (_root, { input }, { bankql }, info) =>
      payloadOf(putTransactionsRequestAccount, input.idempotencyKey, bankql, info, async () => {
        const { payments, credentials, defaults } = bankql;
        const { ids, body } = requestOf(input, defaults);
        const { answer, ...paid } = await payments.pay(putTransactionsRequestAccount, {
          input: { ids, body, credentials },
          idempotencyKey: input.idempotencyKey,
        });
        return { ...paid, transactionRequests: answer?.map(TransactionRequest.nodesIn(answer, ids)) };
      }),
  },
  {
    description: 'How a request ended; the bank took it if `userErrors` is empty.',
    outputFields: (t) => ({
      ...payloadFields(t),
      transactionRequests: t.expose('transactionRequests', {
        type: [TransactionRequest],
        nullable: { list: true, items: true },
        description: "The requests that the bank's answer lists; null if it lists none.",
        extensions: { rest: { operations: [], member: 'transaction-requests' } },
      }),
    }),
  },
);
