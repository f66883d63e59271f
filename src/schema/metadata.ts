import {
  type MetadataEntry,
  type MetadataQuery,
  metadataEntry,
  metadataQuery,
  postMetadata,
} from '../contract/metadata.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode } from './plugin/fields.ts';
import { forged, notGlobalId } from './plugin/global-id.ts';
import { findListItem, itemId, type ListedIds, listedBy } from './plugin/list-item.ts';
import { defineNodeType } from './plugin/node.ts';
import { connectionTo, listField } from './plugin/relay-connection.ts';

type MetadataIds = ListedIds<{ readonly query: MetadataQuery }, 'metadataId', MetadataEntry>;

const loadMetadata = ({ query }: Pick<MetadataIds, 'query'>, { session }: ReadContext) =>
  session.loaders.postMetadata.load({ query });

/** How a set of entries is identified: by the query that returns it. */
const bySet = {
  toKey: ({ query }: Pick<MetadataIds, 'query'>) => [query],
  toIds([query]: readonly unknown[]) {
    const { data } = metadataQuery.safeParse(query);
    if (data === undefined) throw forged();
    return { query: data };
  },
};

/** Metadata entries, identified by their set, and their id or their content. Read through postMetadata. */
const metadataNode = defineNodeType({
  name: 'MetadataEntry',
  ...listedBy(bySet, 'metadataId', {
    shape: metadataEntry,
    operation: postMetadata,
    load: loadMetadata,
    nameOf: itemId,
  }),
  bankIdField: null,
  read: async (ids: MetadataIds, context) =>
    findListItem(await loadMetadata(ids, context), String(ids.metadataId), postMetadata),
});

implementNode(metadataNode, metadataEntry);

const MetadataConnection = connectionTo(metadataNode.object, 'metadata entries');

builder.queryField('metadata', (t) =>
  listField(t, MetadataConnection, {
    description: 'Metadata entries with this id. REST: postMetadata.',
    args: {
      id: t.arg.id({
        required: true,
        description: 'The name of the set of entries, such as `languages` at the sandbox.',
      }),
    },
    load: (_root, { id }, context) => loadMetadata({ query: { id: notGlobalId('id', id) } }, context),
    nodesIn:
      (list, _root, { id }) =>
      (record) => ({ query: { id }, metadataId: itemId(record), list, record }),
  }),
);
