import { z } from 'zod';
import {
  type MetadataEntry,
  type MetadataQuery,
  metadataEntry,
  metadataQuery,
  postMetadata,
} from '../contract/metadata.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode } from './fields.ts';
import { notGlobalId } from './global-id.ts';
import { findListItem, identityOf, itemId, type ListPosition, listIndex } from './list-item.ts';
import { defineNodeType, type NodeRef } from './node.ts';
import { connectionFromIds, connectionTo, pageArguments } from './relay-connection.ts';

interface MetadataIds extends ListPosition<MetadataQuery> {
  readonly query: MetadataQuery;
  /** Null if the bank gave none: then it is the entry at `index` of the list that `query` returns. */
  readonly metadataId: string | null;
}
export type MetadataNode = NodeRef<MetadataIds, MetadataEntry>;

const loadMetadata = (query: MetadataQuery, { session }: ReadContext) =>
  session.loaders.postMetadata.load({ query });

/** Metadata entries, identified by the query that returns them and their id there. Read through postMetadata. */
const metadataNode = defineNodeType({
  name: 'MetadataEntry',
  bankIds: [],
  isListed: true,
  key: z.union([z.tuple([metadataQuery, z.string()]), z.tuple([metadataQuery, z.null(), listIndex])]),
  toKey(node: MetadataNode) {
    const { name, index } = identityOf(node, node.metadataId, itemId);
    return name === null ? ([node.query, name, index] as const) : ([node.query, name] as const);
  },
  toIds: ([query, metadataId, index = 0]): MetadataIds => ({ query, metadataId, index }),
  read: async (ids, context) =>
    findListItem(await loadMetadata(ids.query, context), ids.metadataId ?? ids, postMetadata),
});

implementNode(metadataNode, metadataEntry);

const MetadataConnection = connectionTo(metadataNode.object, 'metadata entries', 'A metadata entry');

builder.queryField('metadata', (t) =>
  t.field({
    description: 'Metadata entries with this id. REST: postMetadata.',
    args: {
      ...pageArguments,
      id: t.arg.id({
        required: true,
        description: 'The name of the set of entries, such as `languages` at the sandbox.',
      }),
    },
    ...connectionFromIds(
      MetadataConnection,
      (_root: object, { id }: { id: string }, context) =>
        loadMetadata({ id: notGlobalId('id', id) }, context),
      (list, _root, query) =>
        (record, index): MetadataNode => ({
          query: { id: query.id },
          metadataId: itemId(record),
          index,
          list,
          record,
        }),
    ),
  }),
);
