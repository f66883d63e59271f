import { amount } from '../contract/shared-parts.ts';
import { postMakeTransaction } from '../contract/transaction.ts';
import { transactionIn, type ViewIds } from '../loaders/loaders.ts';
import {
  AccountRefInput,
  AccountRefObject,
  type NamedAccount,
  validatedAccountRefBody,
} from './account-ref.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Context, type Defaults } from './context.ts';
import { type EstimateContext, knownObject } from './field-extensions.ts';
import { inputType, omitNullish, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import { checkInputKey, idempotencyKeyOf, inputKeyDescription } from './idempotency-key.ts';
import { nodeFromRecord } from './node.ts';
import { paymentByKey, paymentExtensions, receiptOf, validatePaymentAmount } from './payment.ts';
import { PaymentObject } from './payment-node.ts';

const MakeTransactionInput = builder.inputType('MakeTransactionInput', {
  description:
    'The transfer to make. `accountId` is the account that pays; `from`, if the bank needs it, defaults to it.',
  fields: (t) => ({
    bankId: t.id({ description: 'The code of the bank; the configured one if it is left out.' }),
    accountId: t.id({ required: true, description: 'The id at the bank of the account that pays.' }),
    from: t.field({
      type: AccountRefInput,
      description:
        'The account that pays, as the body names it; what it leaves out is that of `accountId` and `bankId`. REST `from`.',
    }),
    to: t.field({
      type: AccountRefInput,
      required: true,
      description:
        'The account that is paid; its ids have to be ones that can be asked for. REST `to`, sent as given.',
    }),
    value: t.field({
      type: inputType(amount),
      required: true,
      description:
        'How much is moved. REST `value`; its amount is more than zero, its currency has up to 16 characters.',
    }),
    description: t.string({
      description: 'What the transfer is for. REST `description`, of up to 512 characters.',
    }),
    challengeType: t.string({
      description: 'How the bank may ask the customer to confirm, such as by a code. REST `challenge_type`.',
    }),
    idempotencyKey: t.string({ description: inputKeyDescription }),
  }),
});

type TransferInput = typeof MakeTransactionInput.$inferInput;

/** What a transfer sends, and between whom. Errors: BAD_USER_INPUT. */
function transferOf(input: TransferInput, defaults: Defaults) {
  const bankId = bankIdOr(defaults, input.bankId);
  const accountId = restId('accountId', input.accountId);
  const { viewId } = defaults;
  validatePaymentAmount(input.value.amount);
  const body = omitNullish({
    description: input.description,
    challenge_type: input.challengeType,
    from: { bank_id: bankId, account_id: accountId, ...validatedAccountRefBody('from', input.from ?? {}) },
    to: validatedAccountRefBody('to', input.to),
    value: toBody(amount, input.value),
  });
  const links = {
    account: { bankId, accountId, viewId },
    from: { named: body.from, bankId, viewId },
    to: { named: body.to, bankId, viewId, payer: { bankId, accountId, viewId } },
  };
  return { ids: { BANK_ID: bankId, ACCOUNT_ID: accountId }, body, links };
}

/** For plans. Errors: as those of a transfer, before anything is sent. */
export function estimateTransfer(input: TransferInput, context: EstimateContext) {
  const { ids, body, links } = transferOf(input, context.defaults);
  checkInputKey(input);
  context.send(postMakeTransaction, { ids, body });
  return links;
}

/** Makes a transfer. Errors: BAD_USER_INPUT, and those of PaymentService.pay. */
export async function transfer(input: TransferInput, context: Context): Promise<Transfer> {
  const { session, payments, credentials, defaults } = context;
  const { ids, body, links } = transferOf(input, defaults);
  const idempotencyKey = idempotencyKeyOf(input, context);
  try {
    const paid = await payments.pay(postMakeTransaction, {
      input: { ids, body, credentials },
      idempotencyKey,
    });
    return { ...paid, ...links, idempotencyKey };
  } finally {
    session.invalidate();
  }
}

interface Transfer {
  readonly trackId: string;
  readonly replayed: boolean;
  readonly answer: unknown;
  readonly idempotencyKey: string;
  /** The account that pays, through the default view. */
  readonly account: ViewIds;
  readonly from: NamedAccount;
  readonly to: NamedAccount;
}

const MakeTransactionPayload = builder.objectRef<Transfer>('MakeTransactionPayload').implement({
  description: 'A transfer that the bank accepted.',
  fields: (t) => ({
    trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    replayed: t.exposeBoolean('replayed', {
      nullable: false,
      description: 'True where this is the stored answer to an earlier call with the same key.',
    }),
    transactionId: t.id({
      nullable: true,
      description: "`id` of the bank's answer, where it gave one: the specification shows no body.",
      resolve: ({ answer }) => receiptOf(answer).transactionId,
    }),
    status: t.string({
      nullable: true,
      description: "`status` of the bank's answer, where it gave one; a short text is the status itself.",
      resolve: ({ answer }) => receiptOf(answer).status,
    }),
    transaction: t.field({
      nullable: true,
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
    from: t.field({
      type: AccountRefObject,
      nullable: false,
      description:
        'The account that pays. Costs no REST call; its `account` is read after the transfer, with the new balance.',
      extensions: knownObject(({ from }: Transfer) => from),
      resolve: ({ from }) => from,
    }),
    to: t.field({
      type: AccountRefObject,
      nullable: false,
      description:
        'The account that is paid. Costs no REST call; its `account` is read after the transfer, with the new balance.',
      extensions: knownObject(({ to }: Transfer) => to),
      resolve: ({ to }) => to,
    }),
  }),
});

builder.mutationField('makeTransaction', (t) =>
  t.field({
    type: MakeTransactionPayload,
    nullable: true,
    description: 'Moves money. REST: postMakeTransaction. Sent at most once for an idempotency key.',
    extensions: paymentExtensions((_root, { input }: { input: TransferInput }, context) => ({
      parent: estimateTransfer(input, context),
    })),
    args: {
      input: t.arg({ type: MakeTransactionInput, required: true, description: 'What to move, and where.' }),
    },
    resolve: (_root, { input }, context) => transfer(input, context),
  }),
);
