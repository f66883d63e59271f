import {
  type ConstValueNode,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromASTUntyped,
} from 'graphql';

/**
 * A JSON Schema of a tool's arguments, with the keywords that GraphQL's types need. Each schema has a `type`, because some models
 * refuse others.
 */
interface JsonSchema {
  readonly type: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly (string | null)[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
  readonly default?: unknown;
}

/** A JSON object without additional members. */
export interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

const typesOfScalars: Readonly<Record<string, string>> = {
  Int: 'integer',
  Float: 'number',
  Boolean: 'boolean',
};

/**
 * Scalars with a plain form in JSON. The form of any other scalar is explained by the first line of its
 * description.
 */
const plainScalars = new Set(['Int', 'Float', 'Boolean', 'String', 'ID']);

/** The schema of an operation's variables, which are the arguments. It allows exactly what the operation accepts. */
export function variablesSchema(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
): ObjectSchema {
  const members = variableDefinitions.map((definition) => {
    const type = typeFromAST(schema, definition.type);
    if (!isInputType(type)) throw new Error(`$${definition.variable.name.value} has no type of inputs`);
    const { defaultValue, description } = definition;
    return {
      name: definition.variable.name.value,
      isRequired: isNonNullType(type) && defaultValue === undefined,
      schema: {
        ...describe(schemaOf(type), description?.value),
        ...(defaultValue === undefined ? {} : { default: defaultOf(type, defaultValue) }),
      },
    };
  });
  return objectSchema(members);
}

interface Member {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: JsonSchema;
}

const objectSchema = (members: readonly Member[]): ObjectSchema => ({
  type: 'object',
  properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
  required: members.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  additionalProperties: false,
});

/**
 * The schema of a member of this type. It may be null unless its type says otherwise. No input of the schema contains itself
 * (test/agents/tools.test.ts).
 */
function schemaOf(type: GraphQLInputType, isNullable = true): JsonSchema {
  if (isNonNullType(type)) return schemaOf(type.ofType, false);
  const typed = (name: string) => ({ type: isNullable ? [name, 'null'] : name });
  if (isListType(type)) return { ...typed('array'), items: schemaOf(type.ofType) };
  if (isEnumType(type)) {
    const names = type.getValues().map(({ name }) => name);
    return { ...typed('string'), enum: isNullable ? [...names, null] : names };
  }
  if (isInputObjectType(type)) {
    const members = Object.values(type.getFields()).map((field) => ({
      name: field.name,
      isRequired: isNonNullType(field.type),
      schema: describe(schemaOf(field.type), field.description),
    }));
    return { ...objectSchema(members), ...typed('object') };
  }
  const form = plainScalars.has(type.name) ? undefined : type.description?.split('\n', 1)[0];
  return describe(typed(typesOfScalars[type.name] ?? 'string'), form);
}

/** Adds the meaning of a member before the description of its type. */
function describe(schema: JsonSchema, meaning: string | null | undefined): JsonSchema {
  const description = [meaning, schema.description].filter(Boolean).join(' ');
  return description === '' ? schema : { ...schema, description };
}

/** The JSON of a default value. A number for a scalar that is a text in JSON, such as a Decimal, keeps its digits. */
function defaultOf(type: GraphQLInputType, node: ConstValueNode): unknown {
  if (isNonNullType(type)) return defaultOf(type.ofType, node);
  if (node.kind === Kind.NULL) return null;
  if (isListType(type))
    return (node.kind === Kind.LIST ? node.values : [node]).map((entry) => defaultOf(type.ofType, entry));
  if (isInputObjectType(type) && node.kind === Kind.OBJECT) {
    const fields = type.getFields();
    return Object.fromEntries(
      node.fields.flatMap(({ name, value }) => {
        const field = fields[name.value];
        return field === undefined ? [] : [[name.value, defaultOf(field.type, value)]];
      }),
    );
  }
  const isNumber = node.kind === Kind.INT || node.kind === Kind.FLOAT;
  const isText = !isEnumType(type) && !isInputObjectType(type) && typesOfScalars[type.name] === undefined;
  return isNumber && isText ? node.value : valueFromASTUntyped(node);
}
