import { amount } from '../contract/shared-parts.ts';
import { BankqlError } from '../errors.ts';
import { AccountRefInput } from './account-ref.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { type EstimateContext, knownObject } from './field-extensions.ts';
import { inputType } from './fields.ts';
import { idempotencyKeyOf, inputKeyDescription } from './idempotency-key.ts';
import { estimateTransfer, transfer } from './make-transaction.ts';
import { ErrorCodeEnum, paymentByKey, paymentExtensions } from './payment.ts';
import { PaymentObject } from './payment-node.ts';
import {
  estimateRequest,
  type RequestPaid,
  requestNodes,
  requestTransaction,
  TransactionRequestObject,
} from './transaction-request.ts';

/** One mutation for both kinds of payment, whose failures are data, so that generated code sees them. */

const PayInput = builder.inputType('PayInput', {
  description: 'What to pay, and to whom.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank of the account that pays; by default the configured one.' }),
    accountId: t.id({ required: true, description: 'The id at the bank of the account that pays.' }),
    to: t.field({
      type: AccountRefInput,
      required: true,
      description: 'Who is paid. The ids have up to 128 characters.',
    }),
    value: t.field({
      type: inputType(amount),
      required: true,
      description: 'How much. The amount is more than zero, the currency has up to 16 characters.',
    }),
    description: t.string({ description: 'What the payment is for, in up to 512 characters.' }),
    challengeType: t.string({
      description: 'How the bank may ask the customer to confirm, such as by a code. REST `challenge_type`.',
    }),
    transactionRequestType: t.string({
      description:
        'If given, the bank is asked for a transaction of this type (REST: putTransactionsRequestAccount), which may wait for the customer to confirm it; otherwise the money is moved at once (REST: postMakeTransaction).',
    }),
    viewId: t.id({
      description:
        'The view through which a transaction is asked for; by default the configured one. Not for transfers.',
    }),
    idempotencyKey: t.string({ description: inputKeyDescription }),
  }),
});

type Pay = typeof PayInput.$inferInput;

/** An error as data: as it is, the executor would take it for a failure of its field. */
type ErrorAsData = Pick<BankqlError, 'code' | 'message' | 'extensions'>;

const UserError = builder.objectRef<ErrorAsData>('UserError').implement({
  description: 'Why a mutation did not do what it was asked for.',
  fields: (t) => ({
    code: t.field({
      type: ErrorCodeEnum,
      nullable: false,
      description: 'The reason, which decides what to do.',
      resolve: ({ code }) => code,
    }),
    message: t.exposeString('message', {
      nullable: false,
      description: "A sentence for developers and support, with the bank's own words if it gave any.",
    }),
    argument: t.field({
      type: ['String'],
      nullable: { list: true, items: false },
      description:
        'The path to the field of the input that is at fault, such as `["value", "amount"]`; null if none is.',
      resolve: ({ extensions }) => extensions.argument,
    }),
    retryable: t.boolean({
      nullable: false,
      description: 'Whether the same request, with the same key, may be sent again.',
      resolve: ({ extensions }) => extensions.retryable,
    }),
    retryAfter: t.float({
      nullable: true,
      description: 'After how many seconds, if it is retryable.',
      resolve: ({ extensions }) => extensions.retryAfter,
    }),
  }),
});

interface Paid {
  readonly replayed: boolean;
  /** The Track-ID of the attempt that the answer is about; null if there was no attempt. */
  readonly trackId: string | null;
  readonly idempotencyKey: string | null;
  readonly requests: RequestPaid | null;
  readonly errors: readonly ErrorAsData[];
}

const PayPayload = builder.objectRef<Paid>('PayPayload').implement({
  description: 'How a payment ended. It is done if `userErrors` is empty.',
  fields: (t) => ({
    payment: t.field({
      type: PaymentObject,
      nullable: true,
      description:
        "bankql's record of this payment, also if it was refused or its outcome is unknown; null if it was not begun. Costs no REST call.",
      extensions: knownObject(({ payment }: { payment: object }) => payment),
      async resolve({ idempotencyKey, trackId }, _args, context) {
        if (idempotencyKey === null || trackId === null) return null;
        const found = await paymentByKey(idempotencyKey, context);
        // Another payment may have the key.
        return found?.record.trackId === trackId ? found : null;
      },
    }),
    replayed: t.exposeBoolean('replayed', {
      nullable: false,
      description: 'Whether this is the stored answer to an earlier call with the same key.',
    }),
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
const asRequest = ({ transactionRequestType, ...input }: Pay) =>
  transactionRequestType == null ? null : { ...input, transactionRequestType };

function estimatePay(input: Pay, context: EstimateContext) {
  const request = asRequest(input);
  if (request === null) {
    const { account } = estimateTransfer(input, context);
    const { bankId, accountId } = account;
    const { bankId: toBankId = null, accountId: toAccountId = null } = input.to;
    return { parent: { payment: { record: { bankId, accountId, toBankId, toAccountId } } } };
  }
  estimateRequest(request, context);
  return null;
}

async function pay(input: Pay, context: Context): Promise<Paid> {
  let idempotencyKey: string | null = null;
  try {
    idempotencyKey = idempotencyKeyOf(input, context);
    const request = asRequest(input);
    const requests = request === null ? null : await requestTransaction(request, context);
    const { replayed, trackId } = requests ?? (await transfer(input, context));
    return { replayed, trackId, idempotencyKey, requests, errors: [] };
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    const { code, message, extensions } = error;
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
      'Pays: moves money, or asks the bank to. Sent at most once for an idempotency key. What went wrong is in `userErrors`. Costs one REST call: postMakeTransaction, or putTransactionsRequestAccount with `transactionRequestType`.',
    extensions: paymentExtensions((_root, { input }: { input: Pay }, context) => estimatePay(input, context)),
    args: { input: t.arg({ type: PayInput, required: true, description: 'What to pay, and to whom.' }) },
    resolve: (_root, { input }, context) => pay(input, context),
  }),
);
