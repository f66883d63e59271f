import SchemaBuilder from '@pothos/core';
import type { Context } from './context.ts';

export const builder = new SchemaBuilder<{
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    Decimal: { Input: string; Output: string };
  };
}>({});

/** Pothos' types with those of this schema. */
export type Types = (typeof builder)['$inferSchemaTypes'];
export type ObjectFields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;
export type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;

builder.queryType({ description: 'The queries.' });
builder.mutationType({
  description:
    'The mutations. Each field makes one REST call; an update also makes a read before it. Links in a payload are read again.',
});
