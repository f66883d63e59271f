import {
  type GraphQLArgument,
  type GraphQLEnumValue,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';

type Member = GraphQLArgument | GraphQLEnumValue | GraphQLField<unknown, unknown> | GraphQLInputField;

export const ownTypesOf = (schema: GraphQLSchema): readonly GraphQLNamedType[] =>
  Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));

/** A type's enum values, input fields, fields and arguments. `String` converts each to its coordinate. */
export function membersOf(type: GraphQLNamedType): readonly Member[] {
  if (isEnumType(type)) return type.getValues();
  if (isInputObjectType(type)) return Object.values(type.getFields());
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  return Object.values(type.getFields()).flatMap((field) => [field, ...field.args]);
}
