import type { GraphQLCompositeType, GraphQLField, GraphQLSchema } from 'graphql';

type Field = GraphQLField<unknown, unknown>;

/** The schema with other fields in the place of its own, each made once; graphql's executor gets them through `getField`. */
export function withFields(
  schema: GraphQLSchema,
  make: (field: Field, type: GraphQLCompositeType) => Field,
): GraphQLSchema {
  const made = new Map<Field, Field>();
  const getField = (type: GraphQLCompositeType, name: string) => {
    const field = schema.getField(type, name);
    if (field === undefined) return undefined;
    const known = made.get(field) ?? make(field, type);
    made.set(field, known);
    return known;
  };
  return Object.create(schema, { getField: { value: getField } });
}
