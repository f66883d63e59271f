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
import { byContent, findByContent, findListItem, itemId, keyOfEntry, type ListedEntry } from './list-item.ts';
import { defineNodeType, type NodeRef } from './node.ts';
import { connectionTo, listField } from './relay-connection.ts';

interface MetadataIds extends ListedEntry<MetadataEntry> {
  readonly query: MetadataQuery;
  /** Null if the bank gave none, or if the entry's content identifies it. */
  readonly metadataId: string | null;
}
type MetadataNode = NodeRef<MetadataIds, MetadataEntry>;

const loadMetadata = (query: MetadataQuery, { session }: ReadContext) =>
  session.loaders.postMetadata.load({ query });

/** Metadata entries, identified by the query that returns them, and their id or their content. Read through postMetadata. */
const metadataNode = defineNodeType({
  name: 'MetadataEntry',
  bankIds: [],
  isListed: true,
  key: z.union([z.tuple([metadataQuery, z.string()]), z.tuple([metadataQuery, ...byContent])]),
  toKey: (node: MetadataNode) =>
    [node.query, ...keyOfEntry(node, node.metadataId, metadataEntry, itemId)] as const,
  toIds: ([query, metadataId, contentHash]): MetadataIds => ({ query, metadataId, contentHash }),
  read: async (ids, context) =>
    findListItem(await loadMetadata(ids.query, context), String(ids.metadataId), postMetadata),
  readByContent: async (ids, contentHash, context) => {
    const list = await loadMetadata(ids.query, context);
    return { ...ids, record: await findByContent(list, contentHash, metadataEntry, postMetadata, context) };
  },
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
    load: (_root, { id }, context) => loadMetadata({ id: notGlobalId('id', id) }, context),
    nodesIn:
      (list, _root, { id }) =>
      (record) => ({ query: { id }, metadataId: itemId(record), list, record }),
  }),
);
