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
    pageInfoTypeOptions: { description: 'Where a page of a connection stands in the whole list.' },
    hasNextPageFieldOptions: { description: 'Whether entries follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether entries precede this page.' },
    startCursorFieldOptions: { description: "The first edge's cursor; null where the page is empty." },
    endCursorFieldOptions: { description: "The last edge's cursor; null where the page is empty." },
    cursorFieldOptions: { description: 'Give it to `after` or `before`.' },
    nodeFieldOptions: {
      description: 'The entry, unless the bank broke the contract in it. Costs no further REST call.',
    },
    edgesFieldOptions: {
      description: 'The entries of the page with their cursors. Costs no further REST call.',
    },
    pageInfoFieldOptions: {
      description: 'Where the page stands in the whole list. Costs no further REST call.',
    },
    firstArgOptions: { description: 'The first so many entries behind `after`; all where left out.' },
    afterArgOptions: { description: 'Only entries behind this cursor.' },
    lastArgOptions: { description: 'The last so many entries before `before`; all where left out.' },
    beforeArgOptions: { description: 'Only entries before this cursor.' },
  },
});

/** The builder of an input's fields, for fields that two inputs share. */
export type InputFields = PothosSchemaTypes.InputFieldBuilder<
  (typeof builder)['$inferSchemaTypes'],
  'InputObject'
>;

builder.queryType({ description: 'What can be read.' });
builder.mutationType({
  description:
    'What can be written. Each field is one REST call, an update also a read before it; what its payload links to is read anew.',
});
builder.globalConnectionField('totalCount', (t) =>
  t.int({
    nullable: false,
    description: 'How many entries the whole list has, whatever the page.',
    resolve: (connection) => connection.totalCount,
  }),
);
