import type { InputShapeFromFields } from '@pothos/core';
import { validateBankId, validateId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import {
  getOtherAccounts,
  type OtherAccount,
  type OtherAccountQuery,
  otherAccount,
} from '../contract/other-account.ts';
import { BankqlError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { isObject } from '../is-object.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { findById } from '../loaders/loaders.ts';
import { type AccountIds, accountNode, accountOf, isCodeOf } from './account.ts';
import { bankFields } from './bank.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode, omitNullish } from './plugin/fields.ts';
import { notGlobalId } from './plugin/global-id.ts';
import { link, recordOf } from './plugin/link.ts';
import {
  isRepeatedIn,
  itemId,
  itemNotFound,
  type ListedIds,
  listedBy,
  madeFrom,
  shownId,
} from './plugin/list-item.ts';
import { defineNodeType, identifiedBy, idFromPath, type NodeRef } from './plugin/node.ts';
import { connectionTo, listField, type ToNode } from './plugin/relay-connection.ts';
import { containsFolded, foldSearch, maxSearchLength } from './text-search.ts';

type OtherAccountIds = ListedIds<ViewIds, 'otherAccountId', OtherAccount>;

type OtherAccountNode = NodeRef<OtherAccountIds, OtherAccount>;

const OtherAccountFilter = builder.inputType('OtherAccountFilter', {
  description:
    'Selects counterparties. With an IBAN, the bank searches; with only an id, bankql searches the list. REST: postOtherAccounts, or getOtherAccounts.',
  fields: (t) => ({
    iban: t.string({
      description:
        'The international account number, in any case, with or without spaces. REST `IBAN`, sent in capitals and without spaces.',
    }),
    id: t.id({ description: 'The id to look for. REST `id`.' }),
  }),
});

const search = builder.args((t) => ({
  filter: t.field({
    type: OtherAccountFilter,
    description: 'Only counterparties with this IBAN, this id, or both.',
  }),
  search: t.string({
    description: `Only those with this text in their holder's name or IBAN, in up to ${maxSearchLength} characters. Case and accents do not matter.`,
  }),
}));

type OtherAccountSearch = InputShapeFromFields<typeof search>;

const filterId = (id: string | null | undefined) => (id == null ? undefined : notGlobalId('filter.id', id));

/** The query for the bank; null for all counterparties. */
function queryOf({ filter }: OtherAccountSearch): OtherAccountQuery | null {
  if (filter?.iban === null || filter?.iban === undefined) return null;
  return omitNullish({ IBAN: compactIban(filter.iban), id: filterId(filter.id) });
}

const loadAll = (account: ViewIds, { session }: ReadContext): Promise<OtherAccount[]> =>
  session.loaders.otherAccounts.load(account);

/** The counterparties that a field with this filter lists. */
function loadOtherAccounts(
  account: ViewIds,
  args: OtherAccountSearch,
  context: ReadContext,
): Promise<OtherAccount[]> {
  const query = queryOf(args);
  const text = foldSearch(args.search);
  const listed =
    query === null
      ? loadAll(account, context)
      : context.session.loaders.postOtherAccounts.load({ ...account, query });
  const id = query === null ? filterId(args.filter?.id) : null;
  if ((id === null || id === undefined) && text === null) return listed;
  const isFound = text === null ? () => true : entriesWith(text);
  return listed.then((list) =>
    context.lists.once(list, JSON.stringify(['counterparties', id, text]), () =>
      madeFrom(
        list,
        list.filter((entry) => (id == null || entry.id === id) && isFound(entry)),
      ),
    ),
  );
}

/** Selects the entries whose holder's name or IBAN contains a folded text. */
function entriesWith(text: string): (entry: OtherAccount) => boolean {
  // White space alone is no part of an IBAN.
  const iban = compactIban(text) || null;
  return ({ holder, IBAN }: { holder?: unknown; IBAN?: unknown }) =>
    (isObject(holder) && containsFolded(holder.name, text)) ||
    (iban !== null && typeof IBAN === 'string' && compactIban(IBAN).includes(iban));
}

/** The counterparties in a list of the bank. */
const otherAccountsIn =
  (list: readonly OtherAccount[], account: AccountIds): ToNode<OtherAccount, OtherAccountNode> =>
  (record) => ({ ...accountOf(account), otherAccountId: itemId(record), list, record });

/** Counterparties by account, view and id. No operation reads a single one: it is looked up in the list. */
export const otherAccountNode = defineNodeType({
  name: 'OtherAccount',
  ...listedBy(identifiedBy('bankId', 'accountId', 'viewId'), 'otherAccountId', {
    shape: otherAccount,
    operation: getOtherAccounts,
    load: loadAll,
    nameOf: itemId,
  }),
  read: async (ids: OtherAccountIds, context) =>
    findOtherAccount(await loadAll(accountOf(ids), context), String(ids.otherAccountId)),
  // A counterparty found by its IBAN or number is the same node as in the list.
  idsOfRecord(ids, record) {
    const otherAccountId = itemId(record) ?? ids.otherAccountId;
    return otherAccountId === ids.otherAccountId ? ids : { ...ids, otherAccountId };
  },
});

/**
 * The counterparty that a text identifies: by its id, else by its IBAN, else by its number. A text that several counterparties
 * share identifies none of them: otherwise the wrong one could be paid.
 * Errors: NOT_FOUND.
 */
function findOtherAccount(list: readonly OtherAccount[], name: string): OtherAccount {
  const isRepeated = isRepeatedIn(list, itemId, name);
  const found = isRepeated ? null : (findById(list, name) ?? findByNumber(list, name));
  if (found === undefined) throw itemNotFound(getOtherAccounts, name);
  if (found !== null) return found;
  throw new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${getOtherAccounts.id} holds several entries with the id, IBAN or number ${shownId(name)}: choose one from the list.`,
    { operation: getOtherAccounts.id },
  );
}

/**
 * The counterparty of an account with the id of a payee; null if none, or several, have it. Errors: those of getOtherAccounts.
 */
export async function findCounterparty(
  payer: ViewIds,
  id: string,
  context: ReadContext,
): Promise<OtherAccountNode | null> {
  const list = await loadOtherAccounts(payer, {}, context);
  const found = isRepeatedIn(list, itemId, id) ? null : findById(list, id);
  if (!found || found instanceof Error) return null;
  return otherAccountsIn(list, payer)(found, 0);
}

type ByNumber = ReadonlyMap<unknown, OtherAccount | null>;

const numbers = new WeakMap<
  readonly OtherAccount[],
  { readonly byIban: ByNumber; readonly byNumber: ByNumber }
>();

/**
 * The counterparty with an IBAN, or else with a number; null if several have it, undefined if none has. A list is indexed once,
 * however many links lead into it.
 */
function findByNumber(list: readonly OtherAccount[], name: string): OtherAccount | null | undefined {
  const indexBy = (numberOf: (record: OtherAccount) => unknown) => {
    const index = new Map<unknown, OtherAccount | null>();
    for (const record of list) {
      const number = numberOf(record);
      if (number) index.set(number, index.has(number) ? null : record);
    }
    return index;
  };
  const { byIban, byNumber } = getOrMake(numbers, list, () => ({
    byIban: indexBy(({ IBAN }) => typeof IBAN === 'string' && compactIban(IBAN)),
    byNumber: indexBy(({ number }) => number),
  }));
  const iban = compactIban(name);
  return byIban.has(iban) ? byIban.get(iban) : byNumber.get(name);
}

/** People and banks write an IBAN with or without spaces between groups of four. */
const compactIban = (iban: string) => iban.replaceAll(/\s/g, '').toUpperCase();

implementNode(otherAccountNode, otherAccount, (t) => ({
  ...bankFields(t, 'counterparty'),
  accountId: t.exposeID('accountId', idFromPath('The account that it is a counterparty of, from the path.')),
  viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
  account: link(t, accountNode, {
    description: 'The account that it is a counterparty of. REST: getAccountsScope.',
    ids: accountOf,
  }),
  linkedAccount: link(t, accountNode, {
    description:
      "The counterparty's account if `bankName` or `swiftBic` is this bank's code; otherwise null. REST: getAccountsScope.",
    args: {
      viewId: t.arg.id({
        description: "The view through which it is read; the counterparty's by default.",
      }),
    },
    fromRecord: true,
    ids: (other, { viewId }) => linkedAccountOf(other, viewId),
  }),
}));

/** The account of this bank behind a counterparty; null if it has none. Errors: BANK_BAD_RESPONSE, BAD_USER_INPUT. */
function linkedAccountOf(other: OtherAccountNode, viewId: string | null | undefined): ViewIds | null {
  const { bank, swift_bic, id } = recordOf(other);
  if (![bank, swift_bic].some((code) => isCodeOf(other.bankId, code))) return null;
  const accountId = unwrap(id);
  if (!accountId) return null;
  return {
    bankId: other.bankId,
    accountId: validateBankId('an account', accountId),
    viewId: validateId('viewId', viewId ?? other.viewId),
  };
}

const OtherAccountConnection = connectionTo(otherAccountNode.object, 'counterparties');

builder.objectFields(accountNode.object, (t) => ({
  otherAccount: link(t, otherAccountNode, {
    description: 'One counterparty, found in getOtherAccounts. REST: getOtherAccounts.',
    args: {
      otherAccountId: t.arg.id({ required: true, description: "The counterparty's id in the list." }),
    },
    ids: (account, { otherAccountId }) => ({
      ...accountOf(account),
      otherAccountId: notGlobalId('otherAccountId', otherAccountId),
    }),
  }),
  otherAccounts: listField(t, OtherAccountConnection, {
    description:
      'Counterparties of the account. REST: getOtherAccounts; with an IBAN in `filter`, postOtherAccounts.',
    args: search,
    load: (account, args, context) => loadOtherAccounts(accountOf(account), args, context),
    nodesIn: (list, account) => otherAccountsIn(list, account),
  }),
}));
