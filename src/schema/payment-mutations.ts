import { type GraphQLResolveInfo, getNamedType } from 'graphql';
import { accountRef, amount, money } from '../contract/shared-parts.ts';
import { postMakeTransaction } from '../contract/transaction.ts';
import { putTransactionsRequestAccount, type TransactionRequest } from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { selects } from '../executor/selection.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import type { PaymentOperation } from '../payments/service.ts';
import type { PaymentRecord } from '../payments/store.ts';
import { AccountRefInput, validatedAccountRefBody } from './account-ref.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Context, type Defaults, viewIdOr } from './context.ts';
import { fieldExtensions } from './field-extensions.ts';
import { inputType, omitNullish, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import { mapListItem } from './list-item.ts';
import { ErrorCodeEnum, idempotencyKeyDescription, PaymentObject } from './payment.ts';
import { bankIdInput } from './record-mutations.ts';
import { isPositive } from './scalars.ts';
import {
  type TransactionRequestNode,
  TransactionRequestObject,
  transactionRequestsIn,
} from './transaction-request.ts';

/** The mutations that make payments, one for each of the bank's two operations. A payment that fails is data: see `payloadOf`. */

/** The fields that both inputs have. */
const paymentFields = (t: InputFields) => ({
  bankId: bankIdInput(t),
  accountId: t.id({ required: true, description: 'The id at the bank of the account that pays.' }),
  to: t.field({
    type: AccountRefInput,
    required: true,
    description: 'Who is paid; the ids have up to 128 characters. REST `to`, sent as given.',
  }),
  description: t.string({
    description: 'What the payment is for, in up to 512 characters. REST `description`.',
  }),
  challengeType: t.string({
    description: 'How the customer confirms, such as by a code. REST `challenge_type`.',
  }),
  idempotencyKey: t.string({ required: true, description: idempotencyKeyDescription }),
});

const valueDescription =
  'How much is moved. REST `value`; its amount is more than zero, its currency has up to 16 characters.';

const MakeTransactionInput = builder.inputType('MakeTransactionInput', {
  description:
    'The transfer to make. `accountId` is the account that pays; `from`, if the bank needs it, defaults to it.',
  fields: (t) => ({
    ...paymentFields(t),
    value: t.field({ type: inputType(amount), required: true, description: valueDescription }),
    from: t.field({
      type: AccountRefInput,
      description:
        'The account that pays, as the body names it; what it leaves out is that of `accountId` and `bankId`. REST `from`.',
    }),
  }),
});

const PutTransactionRequestInput = builder.inputType('PutTransactionRequestInput', {
  description: 'The transaction to ask for.',
  fields: (t) => ({
    ...paymentFields(t),
    value: t.field({ type: inputType(money), description: valueDescription }),
    viewId: t.id({
      description: 'The view of the account; the configured one by default.',
    }),
    transactionRequestType: t.string({
      required: true,
      description:
        "The bank's name for this type of request, such as `SEPA`. REST: the path segment `{TYPE}`.",
    }),
  }),
});

/** Errors: BAD_USER_INPUT for an amount that is zero or negative. */
function checkAmount(value: { readonly amount?: string | null | undefined } | null | undefined): void {
  if (value?.amount != null && !isPositive(value.amount))
    throw badUserInput('The value.amount of a payment has to be more than zero.', 'value.amount');
}

/** The call of a transfer. Errors: BAD_USER_INPUT. */
function transferOf(input: typeof MakeTransactionInput.$inferInput, defaults: Defaults) {
  const bankId = bankIdOr(defaults, input.bankId);
  const accountId = restId('accountId', input.accountId);
  checkAmount(input.value);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    from: {
      bank_id: bankId,
      account_id: accountId,
      ...(input.from && validatedAccountRefBody('from', input.from)),
    },
    to: validatedAccountRefBody('to', input.to),
    value: toBody(amount, input.value),
  });
  return { ids: { bankId, accountId, viewId: defaults.viewId }, body };
}

/** The call of a request for a transaction. Errors: BAD_USER_INPUT. */
function requestOf(input: typeof PutTransactionRequestInput.$inferInput, defaults: Defaults) {
  const ids = {
    bankId: bankIdOr(defaults, input.bankId),
    accountId: restId('accountId', input.accountId),
    viewId: viewIdOr(defaults, input.viewId),
    TYPE: restId('transactionRequestType', input.transactionRequestType),
  };
  const value = input.value == null ? undefined : toBody(money, input.value);
  checkAmount(value);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    to: toBody(accountRef, input.to, 'to.'),
    value,
  });
  return { ids, body };
}

/** An error as data: the executor would take an Error for a failure of its field. */
type ErrorAsData = Pick<BankqlError, 'code' | 'message' | 'extensions'>;

/** The end of an attempt to pay, as the payloads read it. */
interface PaymentPayload {
  readonly idempotencyKey: string;
  /** The Track-ID of the payment that this request made, or asked for again; null if it began none. */
  readonly trackId: string | null;
  /** The record of a payment that is done. */
  readonly record: PaymentRecord | null;
  readonly replayed: boolean;
  readonly transactionRequests: readonly TransactionRequestNode[] | null;
  readonly userErrors: readonly ErrorAsData[];
}

/** bankql's record of the payment. Errors: STATE_UNAVAILABLE. */
async function paymentOf(
  { idempotencyKey, trackId, record }: PaymentPayload,
  { payments, credentials }: Context,
): Promise<PaymentRecord | null> {
  if (record !== null || trackId === null) return record;
  const found = await payments.find(credentials, idempotencyKey);
  // A key that became free again may belong to another payment.
  return found?.trackId === trackId ? found : null;
}

const UserError = builder.objectRef<ErrorAsData>('UserError').implement({
  description: 'The reason why a payment is not done, or not known to be.',
  fields: (t) => ({
    code: t.field({
      type: ErrorCodeEnum,
      nullable: false,
      description: 'The reason, which decides what to do.',
      resolve: ({ code }) => code,
    }),
    message: t.exposeString('message', {
      nullable: false,
      description: "A sentence for developers and support, with the bank's text if it sent one.",
    }),
    argument: t.field({
      type: ['String'],
      description:
        'The path to the invalid field of the input, such as `["value", "amount"]`; null if the input is valid.',
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
      description:
        "The Track-ID of the REST call, also if the bank refused it and bankql kept no record: the bank's operator can find it. Null if no call was made.",
      resolve: ({ extensions }) => extensions.trackId,
    }),
  }),
});

const implementPayload = (name: string, description: string) =>
  builder.objectRef<PaymentPayload>(name).implement({
    description,
    fields: (t) => ({
      payment: t.field({
        type: PaymentObject,
        description:
          "bankql's record of this payment, also if it was refused or its outcome is unknown. Null if bankql has no record of this payment. Costs no REST call; its links are read after the payment, so that balances are the new ones.",
        resolve: (payload, _args, context) => paymentOf(payload, context),
      }),
      replayed: t.exposeBoolean('replayed', {
        nullable: false,
        description:
          'Whether the payment was done before: this is the stored answer to an earlier call with the same key.',
      }),
      transactionRequests: t.expose('transactionRequests', {
        type: [TransactionRequestObject],
        nullable: { list: true, items: true },
        description:
          'The requests that were made: an object without the list is one request, and a short text its `status`. Null for a transfer, for a payment that is not done, and if the bank named none. Costs no REST call. REST `transaction-requests`.',
      }),
      userErrors: t.expose('userErrors', {
        type: [UserError],
        nullable: { list: false, items: false },
        description:
          'Why the payment is not done, or not known to be; empty if it is. If it is not selected, and `payment { state }` does not say it, it is an error of the operation. Costs no REST call.',
      }),
    }),
  });

/**
 * The payload of a payment. A failure is data if the document selects a field that shows it: `userErrors` shows each, and
 * `payment { state }` that of a payment with a record. A client that selects neither would take the payload for a success.
 * Errors: otherwise those of `send`; CALL_BUDGET_EXCEEDED before it if the operation has made all its REST calls.
 */
async function payloadOf(
  operation: PaymentOperation,
  idempotencyKey: string,
  context: Context,
  info: GraphQLResolveInfo,
  send: () => Promise<Omit<PaymentPayload, 'idempotencyKey' | 'userErrors'>>,
): Promise<PaymentPayload> {
  // Its reads' deadline counts from here: the payment takes a part of the operation's time.
  const { session } = context;
  try {
    session.checkPayment(operation);
    return { ...(await send()), idempotencyKey, userErrors: [] };
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    const { code, message, extensions } = error;
    const { trackId = null } = extensions;
    const nothing = { record: null, replayed: false, transactionRequests: null };
    const failed = { ...nothing, idempotencyKey, trackId, userErrors: [{ code, message, extensions }] };
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

const atMostOnce =
  'Sent at most once for an idempotency key. What went wrong is in `userErrors`, or in `errors` if the document selects neither that nor `payment { state }`.';

builder.mutationField('makeTransaction', (t) =>
  t.field({
    type: implementPayload(
      'MakeTransactionPayload',
      'How a transfer ended. It is done if `userErrors` is empty.',
    ),
    description: `Moves money. ${atMostOnce} REST: postMakeTransaction.`,
    extensions: fieldExtensions({ payment: true }),
    args: {
      input: t.arg({ type: MakeTransactionInput, required: true, description: 'What to move, and where.' }),
    },
    resolve: (_root, { input }, context, info) =>
      payloadOf(postMakeTransaction, input.idempotencyKey, context, info, async () => {
        const { payments, credentials, defaults } = context;
        const paid = await payments.pay(postMakeTransaction, {
          input: { ...transferOf(input, defaults), credentials },
          idempotencyKey: input.idempotencyKey,
        });
        return { ...paid, transactionRequests: null };
      }),
  }),
);

builder.mutationField('putTransactionRequest', (t) =>
  t.field({
    type: implementPayload(
      'PutTransactionRequestPayload',
      'How a request for a transaction ended. The bank took it if `userErrors` is empty.',
    ),
    description: `Asks for a transaction, which may wait for the customer to confirm it. ${atMostOnce} REST: putTransactionsRequestAccount.`,
    extensions: fieldExtensions({ payment: true }),
    args: {
      input: t.arg({ type: PutTransactionRequestInput, required: true, description: 'What to ask for.' }),
    },
    resolve: (_root, { input }, context, info) =>
      payloadOf(putTransactionsRequestAccount, input.idempotencyKey, context, info, async () => {
        const { payments, credentials, defaults } = context;
        const { ids, body } = requestOf(input, defaults);
        const { answer, ...paid } = await payments.pay(putTransactionsRequestAccount, {
          input: { ids, body, credentials },
          idempotencyKey: input.idempotencyKey,
        });
        return { ...paid, transactionRequests: answer && nodesOf(answer, ids) };
      }),
  }),
);

/** The requests in the bank's answer to a payment. */
const nodesOf = (list: readonly TransactionRequest[], account: ViewIds) =>
  list.map((entry, index) => mapListItem(entry, index, transactionRequestsIn(list, account)));
