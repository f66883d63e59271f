import { type AccountBody, putAccountID } from '../contract/account.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { inAccount } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { MoneyInput, moneyBody, omitNullish } from './common-types.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { idUnderEitherName, onlyBankId, renamedTo, restIds, underEitherName } from './input-names.ts';
import { AccountObject, accountNode } from './node-lookups/account.ts';
import { nodeFromIds } from './node-type.ts';
import { writeField } from './write-field.ts';

const AccountInput = builder.inputType('AccountInput', {
  description: 'A whole account, as putAccountID sends it. What is left out is not sent, and lost.',
  fields: (t) => ({
    balance: t.field({
      type: MoneyInput,
      required: true,
      description: 'What is on the account. REST `balance`.',
    }),
    bankIds: t.stringList({
      description: 'The banks that the account belongs to. REST `bank_id`: one entry.',
    }),
    bankId: t.string({
      description: 'The banks that the account belongs to. REST `bank_id`.',
      deprecationReason: renamedTo('bankIds'),
    }),
    iban: t.string({ description: 'The international account number. REST `IBAN`.' }),
    accountId: t.id({ description: "The account's id at the bank. REST `id`." }),
    id: t.id({
      description: "The account's id at the bank. REST `id`.",
      deprecationReason: renamedTo('accountId'),
    }),
    label: t.string({ description: 'A name for the account, such as "Everyday". REST `label`.' }),
    number: t.string({ description: "The account's number at the bank. REST `number`." }),
    ownerIds: t.stringList({
      description: 'The customers who own the account, by their ids. REST `owners`.',
    }),
    swiftBic: t.string({ description: "The bank's BIC. REST `swift_bic`." }),
    types: t.stringList({
      description:
        'What kinds of account it is. The specification lists no values; the sandbox has `current`, `savings`, `joint`, `business` and `trust`. REST `type`.',
    }),
    viewsAvailable: t.stringList({
      description:
        'The views through which the account can be seen; the sandbox has `owner` and `public`. REST `views_available`.',
    }),
  }),
});

const accountBody = (input: typeof AccountInput.$inferInput): AccountBody =>
  omitNullish({
    balance: moneyBody(input.balance),
    bank_id: underEitherName(['bankIds', onlyBankId(input.bankIds)], ['bankId', input.bankId]),
    IBAN: input.iban,
    id: idUnderEitherName('accountId', input.accountId, 'id', input.id),
    label: input.label,
    number: input.number,
    owners: restIds('ownerIds', input.ownerIds),
    swift_bic: input.swiftBic,
    type: input.types,
    views_available: input.viewsAvailable,
  });

const PutAccountInput = builder.inputType('PutAccountInput', {
  description:
    "The account to put, and where. `viewId` is the view through which the payload's account is then read; REST does not receive it.",
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    accountId: t.id({ required: true, description: 'The account.' }),
    viewId: t.id({
      description:
        "The view through which the payload's account is read; the configured default view where left out.",
    }),
    account: t.field({ type: AccountInput, required: true, description: 'The request body.' }),
  }),
});

const PutAccountPayload = builder
  .objectRef<{ account: ViewIds; trackId: string }>('PutAccountPayload')
  .implement({
    description: 'What became of putAccountID.',
    fields: (t) => ({
      account: t.field({
        type: AccountObject,
        nullable: true,
        description: 'The account, read anew through the view. REST: getAccountsScope.',
        ...nodeFromIds(
          () => accountNode,
          ({ account }: { account: ViewIds }) => account,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putAccount', (t) =>
  t.field({
    type: PutAccountPayload,
    nullable: true,
    description:
      'Writes an account, its balance included. Replaces the whole record: what is left out is lost. To change a part of it use `updateAccount`. REST: putAccountID.',
    args: { input: t.arg({ type: PutAccountInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putAccountID,
      ({ input }: { input: typeof PutAccountInput.$inferInput }, defaults) => {
        const account = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
        };
        return {
          ids: inAccount(account),
          body: accountBody(input.account),
          // REST does not receive the view, but an invalid one is refused before anything is written.
          account: { ...account, viewId: viewIdOr(defaults, input.viewId) },
        };
      },
      ({ account }) => ({ account }),
    ),
  }),
);
