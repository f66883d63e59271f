import type { CallInput } from '../bank/request.ts';
import { unwrap } from '../bank/response.ts';
import { accountRef, amount, money } from '../contract/shared-parts.ts';
import { postMakeTransaction } from '../contract/transaction.ts';
import { putTransactionsRequestAccount } from '../contract/transaction-request.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type Selection, selects } from '../executor/selection.ts';
import { transactionIn } from '../loaders/loaders.ts';
import type { PaymentInput } from '../payments/record.ts';
import type { PaymentOperation } from '../payments/service.ts';
import {
  AccountRefInput,
  AccountRefObject,
  type NamedAccount,
  validatedAccountRefBody,
} from './account-ref.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Context, type Defaults, viewIdOr } from './context.ts';
import { type EstimateContext, fieldExtensions, type KnownObject, knownObject } from './field-extensions.ts';
import { inputType, omitNullish, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import { checkInputKey, idempotencyKeyOf, inputKeyDescription } from './idempotency-key.ts';
import { nodeFromRecord } from './node.ts';
import { ErrorCodeEnum, PaymentObject, paymentByKey, receiptOf } from './payment.ts';
import { isPositive } from './scalars.ts';
import { TransactionRequestObject, toTransactionRequestNode } from './transaction-request.ts';

/**
 * The mutations that make payments: one for each of the bank's two operations, and `pay` for both, whose failures are
 * data, so that generated code sees them.
 */

/** What the inputs of all payments have. */
const paymentFields = (t: InputFields) => ({
  bankId: t.id({ description: 'The code of the bank; the configured one if it is left out.' }),
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
    description: 'How the bank may ask the customer to confirm, such as by a code. REST `challenge_type`.',
  }),
  idempotencyKey: t.string({ description: inputKeyDescription }),
});

const valueDescription =
  'How much is moved. REST `value`; its amount is more than zero, its currency has up to 16 characters.';
const requiredValue = (t: InputFields) =>
  t.field({ type: inputType(amount), required: true, description: valueDescription });

const MakeTransactionInput = builder.inputType('MakeTransactionInput', {
  description:
    'The transfer to make. `accountId` is the account that pays; `from`, if the bank needs it, defaults to it.',
  fields: (t) => ({
    ...paymentFields(t),
    value: requiredValue(t),
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
      description: 'The view through which the account is read; the configured one if it is left out.',
    }),
    transactionRequestType: t.string({
      required: true,
      description:
        "The bank's name for this type of request, such as `SEPA`. REST: the path segment `{TYPE}`.",
    }),
  }),
});

const PayInput = builder.inputType('PayInput', {
  description: 'What to pay, and to whom.',
  fields: (t) => ({
    ...paymentFields(t),
    value: requiredValue(t),
    transactionRequestType: t.string({
      description:
        'If given, the bank is asked for a transaction of this type (REST: putTransactionsRequestAccount), which may wait for the customer to confirm it; otherwise the money is moved at once (REST: postMakeTransaction).',
    }),
    viewId: t.id({
      description:
        'The view through which a transaction is asked for; by default the configured one. Not for transfers.',
    }),
  }),
});

type TransferInput = typeof MakeTransactionInput.$inferInput;
type RequestInput = typeof PutTransactionRequestInput.$inferInput;
type Pay = typeof PayInput.$inferInput;

/** Errors: BAD_USER_INPUT for an amount that is zero or negative. */
function checkAmount(value: { readonly amount?: string | null | undefined } | null | undefined): void {
  if (value?.amount != null && !isPositive(value.amount))
    throw badUserInput('The value.amount of a payment has to be more than zero.', 'value.amount');
}

/** What a transfer sends. Errors: BAD_USER_INPUT. */
function transferOf(input: TransferInput, defaults: Defaults) {
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

/** What a request for a transaction sends. Errors: BAD_USER_INPUT. */
function requestOf(input: RequestInput, defaults: Defaults) {
  const account = {
    bankId: bankIdOr(defaults, input.bankId),
    accountId: restId('accountId', input.accountId),
    viewId: viewIdOr(defaults, input.viewId),
  };
  const value = input.value == null ? undefined : toBody(money, input.value);
  checkAmount(value);
  const TYPE = restId('transactionRequestType', input.transactionRequestType);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    to: toBody(accountRef, input.to, 'to.'),
    value,
  });
  return { account, ids: { ...account, TYPE }, body };
}

/** The accounts that a transfer names. */
function accountsOf({ ids: account, body }: ReturnType<typeof transferOf>) {
  const { bankId, viewId } = account;
  return {
    account,
    from: { named: body.from, bankId, viewId } satisfies NamedAccount,
    to: { named: body.to, bankId, viewId, payer: account } satisfies NamedAccount,
  };
}

/** Makes a payment. Errors: BAD_USER_INPUT for the key, and those of PaymentService.pay. */
async function send<T extends PaymentOperation>(
  operation: T,
  { ids, body }: Pick<CallInput<T> & PaymentInput, 'ids' | 'body'>,
  input: { readonly idempotencyKey?: string | null | undefined },
  context: Context,
) {
  const { payments, credentials, session } = context;
  const idempotencyKey = idempotencyKeyOf(input, context);
  try {
    const paid = await payments.pay(operation, { input: { ids, body, credentials }, idempotencyKey });
    return { ...paid, idempotencyKey };
  } finally {
    session.invalidate();
  }
}

async function transfer(input: TransferInput, context: Context) {
  const call = transferOf(input, context.defaults);
  return { ...(await send(postMakeTransaction, call, input, context)), ...accountsOf(call) };
}
type Transfer = Awaited<ReturnType<typeof transfer>>;

async function requestTransaction(input: RequestInput, context: Context) {
  const call = requestOf(input, context.defaults);
  const sent = await send(putTransactionsRequestAccount, call, input, context);
  return { ...sent, account: call.account };
}
type Requested = Awaited<ReturnType<typeof requestTransaction>>;

/** For plans. Errors: as those of a transfer, before anything is sent. */
function estimateTransfer(input: TransferInput, context: EstimateContext) {
  const call = transferOf(input, context.defaults);
  checkInputKey(input);
  context.send(postMakeTransaction, call);
  return accountsOf(call);
}

/** For plans. Errors: as those of a request, before anything is sent. */
function estimateRequest(input: RequestInput, context: EstimateContext): null {
  const call = requestOf(input, context.defaults);
  checkInputKey(input);
  context.send(putTransactionsRequestAccount, call);
  return null;
}

/** The extensions of a mutation field that makes a payment. */
const paymentExtensions = <Input>(estimate: (input: Input, context: EstimateContext) => KnownObject | null) =>
  fieldExtensions({
    payment: true,
    estimate: (_root: object, { input }: { input: Input }, context: EstimateContext) =>
      estimate(input, context),
  });

const replayedDescription = 'Whether this is the stored answer to an earlier call with the same key.';
const afterwards = 'Costs no REST call; its `account` is read after the transfer, with the new balance.';

const MakeTransactionPayload = builder.objectRef<Transfer>('MakeTransactionPayload').implement({
  description: 'A transfer that the bank accepted.',
  fields: (t) => ({
    trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    replayed: t.exposeBoolean('replayed', { nullable: false, description: replayedDescription }),
    transactionId: t.id({
      nullable: true,
      description: "`id` of the bank's answer, if it gave one: the specification shows no body.",
      resolve: ({ answer }) => receiptOf(answer).transactionId,
    }),
    status: t.string({
      nullable: true,
      description: "`status` of the bank's answer, if it gave one; a short text is the status itself.",
      resolve: ({ answer }) => receiptOf(answer).status,
    }),
    transaction: t.field({
      description:
        'The transaction that `transactionId` names, through the default view; null if the bank named none. REST: getTransaction.',
      ...nodeFromRecord(
        'Transaction',
        ({ account, answer }: Transfer) => {
          const { transactionId } = receiptOf(answer);
          return transactionId ? transactionIn(account, transactionId) : null;
        },
        ({ account }, unknownId) => transactionIn(account, unknownId()),
      ),
    }),
    payment: t.field({
      type: PaymentObject,
      nullable: true,
      description:
        "bankql's record of it, as `payment(idempotencyKey)` answers; null if it is no longer kept. Costs no REST call.",
      resolve: ({ idempotencyKey }, _args, context) => paymentByKey(idempotencyKey, context),
    }),
    from: t.expose('from', {
      type: AccountRefObject,
      nullable: false,
      description: `The account that pays. ${afterwards}`,
      extensions: knownObject(({ from }: Transfer) => from),
    }),
    to: t.expose('to', {
      type: AccountRefObject,
      nullable: false,
      description: `The account that is paid. ${afterwards}`,
      extensions: knownObject(({ to }: Transfer) => to),
    }),
  }),
});

builder.mutationField('makeTransaction', (t) =>
  t.field({
    type: MakeTransactionPayload,
    nullable: true,
    description: 'Moves money. REST: postMakeTransaction. Sent at most once for an idempotency key.',
    extensions: paymentExtensions((input: TransferInput, context) => ({
      parent: estimateTransfer(input, context),
    })),
    args: {
      input: t.arg({ type: MakeTransactionInput, required: true, description: 'What to move, and where.' }),
    },
    resolve: (_root, { input }, context) => transfer(input, context),
  }),
);

/** The requests that were made. */
const requestNodes = ({ answer, account, trackId }: Requested) =>
  answer?.map(async (request, index) =>
    toTransactionRequestNode(account, unwrap(request), { index, list: answer, trackId }),
  );

const PutTransactionRequestPayload = builder.objectRef<Requested>('PutTransactionRequestPayload').implement({
  description: 'The requests that were made.',
  fields: (t) => ({
    trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    replayed: t.exposeBoolean('replayed', { nullable: false, description: replayedDescription }),
    transactionRequests: t.field({
      type: [TransactionRequestObject],
      nullable: { list: true, items: true },
      description:
        'The requests that were made: an object without the list is one request, and a short text its `status`. Null if the bank named none. Costs no further REST call. REST `transaction-requests`.',
      resolve: requestNodes,
    }),
  }),
});

builder.mutationField('putTransactionRequest', (t) =>
  t.field({
    type: PutTransactionRequestPayload,
    nullable: true,
    description:
      'Asks for a transaction. REST: putTransactionsRequestAccount. Sent at most once for an idempotency key.',
    extensions: paymentExtensions(estimateRequest),
    args: {
      input: t.arg({ type: PutTransactionRequestInput, required: true, description: 'What to ask for.' }),
    },
    resolve: (_root, { input }, context) => requestTransaction(input, context),
  }),
);

/** An error as data: as it is, the executor would take it for a failure of its field. */
type ErrorAsData = Pick<BankqlError, 'code' | 'message' | 'extensions'>;

const UserError = builder.objectRef<ErrorAsData>('UserError').implement({
  description: 'The reason why a mutation failed.',
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
      nullable: { list: true, items: false },
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
      nullable: true,
      description: 'The number of seconds to wait before a retry.',
      resolve: ({ extensions }) => extensions.retryAfter,
    }),
  }),
});

const PayPayload = builder.objectRef<Awaited<ReturnType<typeof pay>>>('PayPayload').implement({
  description: 'How a payment ended. It is done if `userErrors` is empty.',
  fields: (t) => ({
    payment: t.field({
      type: PaymentObject,
      nullable: true,
      description:
        "bankql's record of this payment, also if it was refused or its outcome is unknown. Null if this request began no payment; an earlier one with this key may have. Costs no REST call.",
      extensions: knownObject(({ payment }: { payment: object }) => payment),
      async resolve({ idempotencyKey, trackId }, _args, context) {
        if (idempotencyKey === null || trackId === null) return null;
        const found = await paymentByKey(idempotencyKey, context);
        // Another payment may have the key.
        return found?.record.trackId === trackId ? found : null;
      },
    }),
    replayed: t.exposeBoolean('replayed', { nullable: false, description: replayedDescription }),
    transactionRequests: t.field({
      type: [TransactionRequestObject],
      nullable: { list: true, items: true },
      description:
        'The transaction requests that were made; null for a transfer, or if the bank named none. Costs no further REST call.',
      resolve: ({ requests }) => requests && requestNodes(requests),
    }),
    userErrors: t.field({
      type: [UserError],
      nullable: { list: false, items: false },
      description: 'Why the payment is not done, or not known to be; empty if it is. Costs no REST call.',
      resolve: ({ errors }) => errors,
    }),
  }),
});

/** What the input means for the operation that it selects. */
const asRequest = ({ transactionRequestType, ...input }: Pay): RequestInput | null =>
  transactionRequestType == null ? null : { ...input, transactionRequestType };

function estimatePay(input: Pay, context: EstimateContext) {
  const request = asRequest(input);
  if (request !== null) return estimateRequest(request, context);
  const { bankId, accountId } = estimateTransfer(input, context).account;
  const { bankId: toBankId = null, accountId: toAccountId = null } = input.to;
  return { parent: { payment: { record: { bankId, accountId, toBankId, toAccountId } } } };
}

/** Errors: why the payment is not done, if `userErrors` is not selected: the client would take the payload for a success. */
async function pay(input: Pay, context: Context, info: Selection) {
  let idempotencyKey: string | null = null;
  try {
    idempotencyKey = idempotencyKeyOf(input, context);
    const request = asRequest(input);
    const requests = request === null ? null : await requestTransaction(request, context);
    const { replayed, trackId } = requests ?? (await transfer(input, context));
    return { replayed, trackId, idempotencyKey, requests, errors: [] };
  } catch (error) {
    if (!(error instanceof BankqlError) || !selects(info, 'PayPayload', 'userErrors')) throw error;
    const { code, message, extensions } = error;
    context.noteFailure(code);
    // Null if there was no attempt.
    const { trackId = null } = extensions;
    const errors = [{ code, message, extensions }];
    return { replayed: false, trackId, idempotencyKey, requests: null, errors };
  }
}

builder.mutationField('pay', (t) =>
  t.field({
    type: PayPayload,
    nullable: false,
    description:
      'Pays: moves money, or asks the bank to. Sent at most once for an idempotency key. What went wrong is in `userErrors`, or in `errors` if `userErrors` is not selected. Costs one REST call: postMakeTransaction, or putTransactionsRequestAccount with `transactionRequestType`.',
    extensions: paymentExtensions(estimatePay),
    args: { input: t.arg({ type: PayInput, required: true, description: 'What to pay, and to whom.' }) },
    resolve: (_root, { input }, context, info) => pay(input, context, info),
  }),
);
