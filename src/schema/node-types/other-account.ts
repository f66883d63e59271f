import { z } from 'zod';
import {
  getOtherAccounts,
  type OtherAccount,
  type OtherAccountQuery,
  otherAccountQuery,
} from '../../contract/other-account.ts';
import type { ViewIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { mapOptional, omitNullish } from '../common-types.ts';
import { connectionTo } from '../connection.ts';
import type { ReadContext } from '../context.ts';
import { notGlobalId } from '../global-id.ts';
import { findListItem, itemId, type ListPosition, listIndex } from '../list-item.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';
import { validateViewIds, viewKey } from '../view-ids.ts';

interface OtherAccountIds extends ViewIds, ListPosition<OtherAccountQuery> {
  /** Null where the bank gave none: then it is the one at `index` of the list. */
  readonly otherAccountId: string | null;
}

export type OtherAccountNode = NodeRef<OtherAccountIds, OtherAccount>;

export const OtherAccountFilter = builder.inputType('OtherAccountFilter', {
  description: 'The query body of postOtherAccounts.',
  fields: (t) => ({
    iban: t.string({
      required: true,
      description: 'The international account number to look for. REST `IBAN`.',
    }),
    id: t.id({ description: 'The id to look for. REST `id`.' }),
  }),
});

export interface OtherAccountFilterInput {
  readonly filter?: typeof OtherAccountFilter.$inferInput | null | undefined;
}

const queryOf = ({ filter }: OtherAccountFilterInput): OtherAccountQuery | null =>
  mapOptional(filter, ({ iban, id }) =>
    omitNullish({ IBAN: iban, id: mapOptional(id, (given) => notGlobalId('filter.id', given)) }),
  ) ?? null;

/** The counterparties of an account: all, or those that a query asks for. */
const load = (
  { bankId, accountId, viewId }: ViewIds,
  query: OtherAccountQuery | null,
  { loaders }: ReadContext['session'],
): Promise<OtherAccount[]> => {
  const ids = { bankId, accountId, viewId };
  return query === null ? loaders.otherAccounts.load(ids) : loaders.postOtherAccounts.load({ ...ids, query });
};

/** The counterparties that a field with this filter lists. */
export const loadOtherAccounts = (
  account: ViewIds,
  filter: OtherAccountFilterInput,
  session: ReadContext['session'],
) => load(account, queryOf(filter), session);

/** An entry of that list. */
export const toOtherAccountNode = (
  { bankId, accountId, viewId }: ViewIds,
  record: OtherAccount,
  index: number,
  filter: OtherAccountFilterInput,
): OtherAccountNode => ({
  bankId,
  accountId,
  viewId,
  otherAccountId: itemId(record),
  query: queryOf(filter),
  index,
  record,
});

/** Counterparties by account, view and their id. No operation reads one: it is found in the list. */
export const otherAccountNode = defineNodeType({
  name: 'OtherAccount',
  key: z.union([
    z.tuple([...viewKey, z.string()]),
    z.tuple([...viewKey, z.null(), listIndex, otherAccountQuery.nullable()]),
  ]),
  toKey: ({ bankId, accountId, viewId, otherAccountId, index, query }: OtherAccountNode) =>
    otherAccountId === null
      ? ([bankId, accountId, viewId, otherAccountId, index, query] as const)
      : ([bankId, accountId, viewId, otherAccountId] as const),
  toIds: ([bankId, accountId, viewId, otherAccountId, index = 0, query = null]): OtherAccountIds => ({
    ...validateViewIds(bankId, accountId, viewId),
    otherAccountId,
    index,
    query,
  }),
  read: async (ids, { session }) =>
    ids.otherAccountId === null
      ? findListItem(await load(ids, ids.query, session), ids, getOtherAccounts)
      : findListItem(await load(ids, null, session), ids.otherAccountId, getOtherAccounts),
});

export const OtherAccountObject = builder.objectRef<OtherAccountNode>('OtherAccount');

export const OtherAccountConnection = connectionTo(OtherAccountObject, {
  list: 'A list of counterparties.',
  entry: 'A counterparty and its place in a list.',
});
