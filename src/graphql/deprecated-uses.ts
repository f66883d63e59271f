import {
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** A part of a schema that may be deprecated. `String(element)` is its coordinate. */
interface SchemaElement {
  readonly deprecationReason?: string | null | undefined;
  toString(): string;
}

/**
 * The coordinates of the deprecated fields, arguments, input fields and enum values that a document names, such as
 * `Account.label`. The values of variables are not examined.
 */
export function deprecatedUses(schema: GraphQLSchema, document: DocumentNode): readonly string[] {
  const found = new Set<string>();
  const info = new TypeInfo(schema);
  const note = (element: SchemaElement | null | undefined): void => {
    if (element?.deprecationReason != null) found.add(String(element));
  };
  visit(
    document,
    visitWithTypeInfo(info, {
      Field: () => note(info.getFieldDef()),
      Argument: () => note(info.getArgument()),
      EnumValue: () => note(info.getEnumValue()),
      ObjectField({ name }) {
        const type = getNamedType(info.getParentInputType());
        if (isInputObjectType(type)) note(type.getFields()[name.value]);
      },
    }),
  );
  return [...found];
}
