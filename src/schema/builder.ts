import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import type { ResolverContext } from './context.ts';
import { globalIdDescription } from './plugin/global-id.ts';
import BankPlugin from './plugin/index.ts';

export const builder = new SchemaBuilder<{
  Context: ResolverContext;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    Decimal: { Input: string; Output: string };
  };
  /** Edges are not null, because bankql creates them itself: only their nodes can fail. */
  DefaultEdgesNullability: { list: false; items: false };
  /** The fields of a connection in addition to Relay's. */
  Connection: {
    readonly nodes: Iterable<unknown>;
    readonly totalCount: number | null | Promise<number | null>;
  };
}>({
  plugins: [RelayPlugin, BankPlugin],
  relay: {
    // bankql has its own `node` and `nodes`: see node.ts.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    nodeTypeOptions: { description: 'Whatever can be read again by its global id.' },
    idFieldOptions: { description: globalIdDescription },
    cursorType: 'String',
    edgesFieldOptions: { nullable: { list: false, items: false } },
    clientMutationId: 'omit',
    // The fields of `PageInfo` and of edges have no descriptions, because the Relay specification defines
    // them. The argument `input` has none, because its type explains it.
    pageInfoTypeOptions: { description: 'Information about a page of a connection.' },
    defaultEdgeTypeOptions: { description: 'An entry and its place in a list.' },
  },
});

/** The TypeScript types of this schema, in the form that Pothos' functions need. */
export type Types = (typeof builder)['$inferSchemaTypes'];
export type ObjectFields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
export type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

builder.queryType({ description: 'The queries.' });
builder.mutationType({
  description: 'The mutations; links in a payload are read after the write.',
});
