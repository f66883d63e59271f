import { z } from 'zod';
import {
  getOtherAccounts,
  type OtherAccount,
  type OtherAccountQuery,
  otherAccountQuery,
} from '../contract/other-account.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { AccountRef, accountLink } from './account.ts';
import { builder } from './builder.ts';
import { connectionTo } from './connection.ts';
import type { Asking } from './context.ts';
import { createLink, fromIds, fromPath, type Linked, linkFromIds, recordOf } from './link.ts';
import { entryOf, idOf, type Place, position } from './list-entry.ts';
import { optionally, present } from './values.ts';
import { checkView, viewKey } from './view.ts';

interface OtherAccountIds extends ViewIds, Place<OtherAccountQuery> {
  /** Null where the bank gave none: then it is the one at `index` of the list. */
  readonly otherAccountId: string | null;
}
export type OtherAccountNode = Linked<OtherAccountIds, OtherAccount>;

export const OtherAccountFilter = builder.inputType('OtherAccountFilter', {
  description: 'The query body of postOtherAccounts.',
  fields: (t) => ({
    iban: t.string({ required: true, description: 'REST `IBAN`.' }),
    id: t.id({ description: 'REST `id`.' }),
  }),
});

export interface OtherAccountFilterInput {
  readonly filter?: typeof OtherAccountFilter.$inferInput | null | undefined;
}

const queryOf = ({ filter }: OtherAccountFilterInput): OtherAccountQuery | null =>
  optionally(filter, ({ iban, id }) => present({ IBAN: iban, id })) ?? null;

/** The counterparties of an account: all, or those that a query asks for. */
const load = (
  { bankId, accountId, viewId }: ViewIds,
  query: OtherAccountQuery | null,
  { loaders }: Asking['reader'],
): Promise<OtherAccount[]> => {
  const ids = { bankId, accountId, viewId };
  return query === null ? loaders.otherAccounts.load(ids) : loaders.postOtherAccounts.load({ ...ids, query });
};

/** The counterparties that a field with this filter lists. */
export const loadOtherAccounts = (
  account: ViewIds,
  filter: OtherAccountFilterInput,
  reader: Asking['reader'],
) => load(account, queryOf(filter), reader);

/** An entry of that list. */
export const otherAccountEntry = (
  { bankId, accountId, viewId }: ViewIds,
  record: OtherAccount,
  index: number,
  filter: OtherAccountFilterInput,
): OtherAccountNode => ({
  bankId,
  accountId,
  viewId,
  otherAccountId: idOf(record),
  query: queryOf(filter),
  index,
  record,
});

/** Counterparties by account, view and their id. No operation reads one: it is found in the list. */
export const otherAccountLink = createLink({
  name: 'OtherAccount',
  key: z.union([
    z.tuple([...viewKey, z.string()]),
    z.tuple([...viewKey, z.null(), position, otherAccountQuery.nullable()]),
  ]),
  toKey: ({ bankId, accountId, viewId, otherAccountId, index, query }: OtherAccountNode) =>
    otherAccountId === null
      ? ([bankId, accountId, viewId, otherAccountId, index, query] as const)
      : ([bankId, accountId, viewId, otherAccountId] as const),
  toIds: ([bankId, accountId, viewId, otherAccountId, index = 0, query = null]): OtherAccountIds => ({
    ...checkView(bankId, accountId, viewId),
    otherAccountId,
    index,
    query,
  }),
  read: async (ids, { reader }) =>
    ids.otherAccountId === null
      ? entryOf(await load(ids, ids.query, reader), ids, getOtherAccounts)
      : entryOf(await load(ids, null, reader), ids.otherAccountId, getOtherAccounts),
});

const AccountHolderRef = builder.objectRef<NonNullable<OtherAccount['holder']>>('AccountHolder').implement({
  description: 'Who holds a counterparty account.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'REST `name`.' }),
    isAlias: t.exposeBoolean('is_alias', { nullable: true, description: 'REST `is_alias`.' }),
  }),
});

export const OtherAccountRef = builder.objectRef<OtherAccountNode>('OtherAccount');
OtherAccountRef.implement({
  description:
    'A counterparty of an account, as seen through one of its views. REST: getOtherAccounts, or postOtherAccounts.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(otherAccountLink.idField),
    bankId: t.exposeID('bankId', fromPath("The bank's code, from the path.")),
    accountId: t.exposeID('accountId', fromPath('The account that it is a counterparty of, from the path.')),
    viewId: t.exposeID('viewId', fromPath('The view through which it is seen, from the path.')),
    otherAccountId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: fromIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
      resolve: ({ otherAccountId, record }) => otherAccountId ?? record?.id,
    }),
    account: t.field({
      type: AccountRef,
      nullable: true,
      description: 'The account that it is a counterparty of. REST: getAccountsScope.',
      ...linkFromIds(
        () => accountLink,
        ({ bankId, accountId, viewId }: OtherAccountNode) => ({ bankId, accountId, viewId }),
      ),
    }),
    bankName: t.string({
      nullable: true,
      description: "REST `bank`: the counterparty's bank, as the bank wrote it.",
      resolve: (other) => recordOf(other).bank,
    }),
    holder: t.field({
      type: AccountHolderRef,
      nullable: true,
      description: 'REST `holder`.',
      resolve: (other) => recordOf(other).holder,
    }),
    kind: t.string({ nullable: true, description: 'REST `kind`.', resolve: (other) => recordOf(other).kind }),
    number: t.string({
      nullable: true,
      description: 'REST `number`.',
      resolve: (other) => recordOf(other).number,
    }),
    iban: t.string({ nullable: true, description: 'REST `IBAN`.', resolve: (other) => recordOf(other).IBAN }),
    swiftBic: t.string({
      nullable: true,
      description: 'REST `swift_bic`.',
      resolve: (other) => recordOf(other).swift_bic,
    }),
  }),
});

export const OtherAccountConnection = connectionTo(OtherAccountRef, {
  list: 'A list of counterparties.',
  entry: 'A counterparty and its place in a list.',
});
