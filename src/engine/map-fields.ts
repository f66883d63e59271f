import type { GraphQLCompositeType, GraphQLField, GraphQLSchema } from 'graphql';
import { getOrMake } from '../get-or-make.ts';

type Field = GraphQLField<unknown, unknown>;

/** The schema with other fields in the place of its own, each made once; graphql's executor gets them through `getField`. */
export function withFields(
  schema: GraphQLSchema,
  make: (field: Field, type: GraphQLCompositeType) => Field,
): GraphQLSchema {
  const made = new Map<Field, Field>();
  const getField = (type: GraphQLCompositeType, name: string) => {
    const field = schema.getField(type, name);
    return field && getOrMake(made, field, () => make(field, type));
  };
  return Object.create(schema, { getField: { value: getField } });
}
