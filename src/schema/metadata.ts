import { z } from 'zod';
import { type MetadataEntry, type MetadataQuery, metadataQuery, postMetadata } from '../contract/metadata.ts';
import { builder } from './builder.ts';
import { connectionFromIds, connectionTo } from './connection.ts';
import type { Asking } from './context.ts';
import { createLink, fromIds, type Linked, recordOf } from './link.ts';
import { entryOf, idOf, type Place, position } from './list-entry.ts';
import { NameBoxRef } from './values.ts';

interface MetadataIds extends Place<MetadataQuery> {
  readonly query: MetadataQuery;
  /** Null where the bank gave none: then it is the one at `index` of the list that `query` gives. */
  readonly metadataId: string | null;
}
export type MetadataNode = Linked<MetadataIds, MetadataEntry>;

const loadMetadata = (query: MetadataQuery, { reader }: Asking) =>
  reader.loaders.postMetadata.load({ query });

/** Metadata entries by the query that gives them, and their id there. Read through postMetadata. */
export const metadataLink = createLink({
  name: 'MetadataEntry',
  key: z.union([z.tuple([metadataQuery, z.string()]), z.tuple([metadataQuery, z.null(), position])]),
  toKey: ({ query, metadataId, index }: MetadataNode) =>
    metadataId === null ? ([query, metadataId, index] as const) : ([query, metadataId] as const),
  toIds: ([query, metadataId, index = 0]): MetadataIds => ({ query, metadataId, index }),
  read: async (ids, context) =>
    entryOf(await loadMetadata(ids.query, context), ids.metadataId ?? ids, postMetadata),
});

export const MetadataRef = builder.objectRef<MetadataNode>('MetadataEntry');
MetadataRef.implement({
  description: 'A metadata entry. REST: postMetadata.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(metadataLink.idField),
    metadataId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: fromIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
      resolve: ({ metadataId, record }) => metadataId ?? record?.id,
    }),
    code: t.string({ nullable: true, description: 'REST `code`.', resolve: (entry) => recordOf(entry).code }),
    postedBy: t.string({
      nullable: true,
      description: 'REST `postedBy`, as the bank wrote it.',
      resolve: (entry) => recordOf(entry).postedBy,
    }),
    text: t.field({
      type: NameBoxRef,
      nullable: true,
      description: 'REST `text`.',
      resolve: (entry) => recordOf(entry).text,
    }),
  }),
});

const MetadataConnection = connectionTo(MetadataRef, {
  list: 'A list of metadata entries.',
  entry: 'A metadata entry and its place in a list.',
});

builder.queryField('metadata', (t) =>
  t.connection(
    {
      type: MetadataRef,
      nullable: true,
      description: 'Metadata entries with this id. REST: postMetadata.',
      args: { id: t.arg.id({ required: true, description: "The query body's `id`." }) },
      ...connectionFromIds(
        (_root: object, { id }: { id: string }, context) => loadMetadata({ id }, context),
        (_root, record, index, { id }): MetadataNode => ({
          query: { id },
          metadataId: idOf(record),
          index,
          record,
        }),
      ),
    },
    MetadataConnection,
  ),
);
