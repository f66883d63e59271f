import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import type { Context } from './context.ts';
import { globalIdDescription } from './global-id.ts';

export const builder = new SchemaBuilder<{
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    CurrencyCode: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    Decimal: { Input: string; Output: string };
  };
  Connection: { totalCount: number };
}>({
  plugins: [RelayPlugin],
  relay: {
    // Replaced by our own fields (node.ts): Pothos' do not tell the reader which fields are selected.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    cursorType: 'String',
    nodeTypeOptions: { description: 'Whatever can be read again by its global id.' },
    idFieldOptions: { description: globalIdDescription },
    pageInfoTypeOptions: { description: 'Information about a page of a connection.' },
    hasNextPageFieldOptions: { description: 'Whether entries follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether entries precede this page.' },
    startCursorFieldOptions: { description: "The first edge's cursor; null where the page is empty." },
    endCursorFieldOptions: { description: "The last edge's cursor; null where the page is empty." },
    cursorFieldOptions: { description: 'Give it to `after` or `before`.' },
    nodeFieldOptions: {
      description: "The entry, or null if the bank's data for it is invalid. Costs no further REST call.",
    },
    edgesFieldOptions: {
      description: 'The entries of the page with their cursors. Costs no further REST call.',
    },
    pageInfoFieldOptions: {
      description: 'The position of the page in the whole list. Costs no further REST call.',
    },
    firstArgOptions: {
      description: 'The maximum number of entries after the cursor `after`. All if it is left out.',
    },
    afterArgOptions: { description: 'Only entries after this cursor.' },
    lastArgOptions: {
      description: 'The maximum number of entries before the cursor `before`. All if it is left out.',
    },
    beforeArgOptions: { description: 'Only entries before this cursor.' },
  },
});

/** Pothos' types with those of this schema. */
export type Types = (typeof builder)['$inferSchemaTypes'];
export type ObjectFields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
export type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

builder.queryType({ description: 'The queries.' });
builder.mutationType({
  description:
    'The mutations. Each field makes one REST call; an update also makes a read before it. Links in a payload are read again.',
});
builder.globalConnectionField('totalCount', (t) =>
  t.int({
    nullable: false,
    description: 'The number of entries in the whole list, not only in this page.',
    resolve: (connection) => connection.totalCount,
  }),
);
