import type { GraphQLCompositeType, GraphQLField, GraphQLSchema } from 'graphql';
import { getOrMake } from '../get-or-make.ts';

type Field = GraphQLField<unknown, unknown>;

/** A copy of the schema with replaced fields. Each field is created once, when the executor reads it through `getField`. */
export function withFields(schema: GraphQLSchema, make: (field: Field) => Field): GraphQLSchema {
  const made = new Map<Field, Field>();
  const getField = (type: GraphQLCompositeType, name: string) => {
    const field = schema.getField(type, name);
    return field && getOrMake(made, field, make);
  };
  return Object.create(schema, { getField: { value: getField } });
}
