import { validateBankId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { type AccountRef as AccountName, money } from '../contract/shared-parts.ts';
import {
  putTransactionsRequestAccount,
  type TransactionRequest,
  transactionRequest,
} from '../contract/transaction-request.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { AccountRefInput, AccountRefObject, accountRefBody, type NamedAccount } from './account-ref.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { inputType, MoneyObject, mapOptional, omitNullish, recordFields, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import { checkInputKey, idempotencyKeyOf, inputKeyDescription } from './idempotency-key.ts';
import { AccountObject, accountNode } from './node-lookups/account.ts';
import { TransactionObject, transactionNode } from './node-lookups/transaction.ts';
import {
  type TransactionRequestNode,
  TransactionRequestObject,
  toTransactionRequestNode,
  transactionIdsOf,
  transactionRequestNode,
} from './node-lookups/transaction-request.ts';
import { nodeFromIds, nodesFromRecord, recordOf } from './node-type.ts';
import { paymentExtensions, validatePaymentAmount } from './payment.ts';

const named = ({ bankId, viewId }: ViewIds, account: AccountName | null | undefined): NamedAccount | null =>
  account ? { named: unwrap(account), bankId, viewId } : null;

const bodyOf = (entry: TransactionRequestNode) => unwrap(recordOf(entry).body);

TransactionRequestObject.implement({
  description: transactionRequest.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, transactionRequest, ['from', 'body']),
    id: t.id(transactionRequestNode.idField),
    account: t.field({
      type: AccountObject,
      nullable: true,
      description: 'The account that was asked to pay, through the view of the list. REST: getAccountsScope.',
      ...nodeFromIds(
        () => accountNode,
        ({ bankId, accountId, viewId }: TransactionRequestNode) => ({ bankId, accountId, viewId }),
      ),
    }),
    from: t.field({
      type: AccountRefObject,
      nullable: true,
      description: 'The account that pays. REST `from`.',
      resolve: (entry) => named(entry, recordOf(entry).from),
    }),
    to: t.field({
      type: AccountRefObject,
      nullable: true,
      description: 'The account to be paid. REST `body.to`.',
      resolve: (entry) => named(entry, bodyOf(entry)?.to),
    }),
    value: t.field({
      type: MoneyObject,
      nullable: true,
      description: 'How much is to be moved. REST `body.value`.',
      resolve: (entry) => bodyOf(entry)?.value,
    }),
    transactions: t.field({
      type: [TransactionObject],
      nullable: { list: true, items: true },
      description:
        'The transactions that `transactionIds` names (separated by commas or white space). REST: getTransaction for each.',
      ...nodesFromRecord(
        () => transactionNode,
        (entry: TransactionRequestNode) => transactionIdsOf(recordOf(entry)),
        ({ bankId, accountId, viewId }, transactionId) => ({
          bankId,
          accountId,
          viewId,
          transactionId: validateBankId('a transaction', transactionId),
        }),
      ),
    }),
  }),
});

const PutTransactionRequestInput = builder.inputType('PutTransactionRequestInput', {
  description: "The transaction to ask for. `transactionRequestType` is the path's {TYPE}.",
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    accountId: t.id({ required: true, description: 'The account, which pays.' }),
    viewId: t.id({ description: 'The view; the configured default view where left out.' }),
    transactionRequestType: t.string({ required: true, description: "The path's {TYPE}." }),
    to: t.field({
      type: AccountRefInput,
      required: true,
      description: 'The account to be paid. REST `to`, sent as given; its ids have up to 128 characters.',
    }),
    value: t.field({
      type: inputType(money),
      description:
        'How much is to be moved. REST `value`; its amount is more than zero, its currency has up to 16 characters.',
    }),
    description: t.string({ description: 'What it is for. REST `description`, of up to 512 characters.' }),
    challengeType: t.string({
      description: 'How the bank may ask the customer to confirm, such as by a code. REST `challenge_type`.',
    }),
    idempotencyKey: t.string({ description: inputKeyDescription }),
  }),
});

type RequestInput = typeof PutTransactionRequestInput.$inferInput;

/** What a request sends, and for which account. Errors: BAD_USER_INPUT. */
function requestOf(input: RequestInput, defaults: Defaults) {
  const ids = {
    bankId: bankIdOr(defaults, input.bankId),
    accountId: restId('accountId', input.accountId),
    viewId: viewIdOr(defaults, input.viewId),
  };
  const value = mapOptional(input.value, (value) => toBody(money, value));
  validatePaymentAmount(value?.amount);
  const call = {
    ids: {
      BANK_ID: ids.bankId,
      ACCOUNT_ID: ids.accountId,
      VIEW_ID: ids.viewId,
      TYPE: restId('transactionRequestType', input.transactionRequestType),
    },
    body: omitNullish({
      description: input.description,
      challenge_type: input.challengeType,
      to: accountRefBody('to', input.to),
      value,
    }),
  };
  return { ids, call };
}

interface RequestPaid {
  /** Null if the bank named none. */
  readonly requests: readonly (TransactionRequest | Error)[] | null;
  readonly ids: ViewIds;
  readonly trackId: string;
  readonly replayed: boolean;
}

const PutTransactionRequestPayload = builder
  .objectRef<RequestPaid>('PutTransactionRequestPayload')
  .implement({
    description: "The bank's answer to putTransactionsRequestAccount.",
    fields: (t) => ({
      transactionRequests: t.field({
        type: [TransactionRequestObject],
        nullable: { list: true, items: true },
        description:
          'The requests that were made. REST `transaction-requests`, as far as the bank answered with any: an object without the list is one request, and a short text its `status`. Null where it named none.',
        resolve: ({ requests, ids, trackId }) =>
          requests?.map(async (request, index) =>
            toTransactionRequestNode(ids, unwrap(request), { index, list: requests, trackId }),
          ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
      replayed: t.exposeBoolean('replayed', {
        nullable: false,
        description: 'True where this is the stored answer to an earlier call with the same key.',
      }),
    }),
  });

builder.mutationField('putTransactionRequest', (t) =>
  t.field({
    type: PutTransactionRequestPayload,
    nullable: true,
    description:
      'Asks for a transaction. REST: putTransactionsRequestAccount. Sent at most once for an idempotency key.',
    extensions: paymentExtensions((_root, { input }: { input: RequestInput }, context) => {
      const { call } = requestOf(input, context.defaults);
      checkInputKey(input);
      context.send(putTransactionsRequestAccount, call);
      return null;
    }),
    args: {
      input: t.arg({ type: PutTransactionRequestInput, required: true, description: 'What to ask for.' }),
    },
    resolve: async (_root, { input }, context) => {
      const { session, payments, credentials, defaults } = context;
      const { ids, call } = requestOf(input, defaults);
      const idempotencyKey = idempotencyKeyOf(input, context);
      try {
        const { trackId, replayed, answer } = await payments.pay(putTransactionsRequestAccount, {
          input: { ...call, credentials },
          idempotencyKey,
        });
        return { requests: answer, ids, trackId, replayed };
      } finally {
        session.invalidate();
      }
    },
  }),
);
