import './scalars.ts';
import './account.ts';
import './account-ref.ts';
import './bank.ts';
import './branch.ts';
import './customer.ts';
import './message.ts';
import './metadata.ts';
import './node.ts';
import './other-account.ts';
import './payment.ts';
import './payment-list.ts';
import './payment-mutations.ts';
import './product.ts';
import './transaction.ts';
import './transaction-request.ts';
import './viewer.ts';
import {
  DirectiveLocation,
  GraphQLDeferDirective,
  GraphQLDirective,
  type GraphQLField,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLStreamDirective,
  GraphQLString,
  isNonNullType,
  isObjectType,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
  specifiedDirectives,
  visit,
} from 'graphql';
import { builder } from './builder.ts';
import { fieldExtensionsOf } from './field-extensions.ts';

const tag = new GraphQLDirective({
  name: 'tag',
  description:
    'Marks a part of the schema. Mutations of the bank\'s staff, which `SCHEMA=app` leaves out, have the name "staff".',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: { name: { type: new GraphQLNonNull(GraphQLString), description: 'What it is marked as.' } },
  isRepeatable: true,
});

const semanticNonNull = new GraphQLDirective({
  name: 'semanticNonNull',
  description:
    'The field is null only if there is an error for it: clients that handle errors may take it for non-null.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
});

/** The GraphQL schema; printed, it is schema.graphql. */
export const schema = withNullMeanings(
  builder.toSchema({
    directives: [...specifiedDirectives, GraphQLDeferDirective, GraphQLStreamDirective, tag, semanticNonNull],
  }),
);

/** Adds to the description of each field that only an error makes null that this is so, before what it costs. */
function withNullMeanings(built: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(built.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const text = field.description;
      if (!text || isNonNullType(field.type) || !nullMeansError(type.name, field)) continue;
      const cost = text.search(/(?<=[.] )(REST: |REST then: |Costs )/);
      const before = cost < 0 ? `${text} ` : text.slice(0, cost);
      field.description = `${before}Null only with an error. ${cost < 0 ? '' : text.slice(cost)}`.trimEnd();
    }
  }
  return built;
}

/** The mutations that the bank's staff make, and customers never do. */
const staffMutations: ReadonlySet<string> = new Set([
  'putAccount',
  'putBranch',
  'putCustomerMessage',
  'putProduct',
  'updateBranch',
  'updateProduct',
]);

/** The schema without the mutations of the staff, and without the types that only they use. */
export function appSchema(): GraphQLSchema {
  const { mutation, types, ...config } = schema.toConfig();
  if (!mutation) throw new Error('the schema has no mutations');
  const { fields, ...rest } = mutation.toConfig();
  const remaining = Object.entries(fields).filter(([name]) => !staffMutations.has(name));
  return new GraphQLSchema({
    ...config,
    mutation: new GraphQLObjectType({ ...rest, fields: Object.fromEntries(remaining) }),
    // Types that only an interface leads to.
    types: types.filter((type) => isObjectType(type) && type.getInterfaces().length > 0),
  });
}

/** The schema as in schema.graphql: sorted, so that the order of the code has no effect, and with its directives. */
export function printedSchema(printed: GraphQLSchema = schema): string {
  const sdl = printSchema(lexicographicSortSchema(printed));
  const texts: string[] = [];
  let written = 0;
  visit(parse(sdl), {
    ObjectTypeDefinition({ name: { value: typename }, fields = [] }) {
      const type = printed.getType(typename);
      for (const { name, type: fieldType, loc } of fields) {
        const field = isObjectType(type) ? type.getFields()[name.value] : undefined;
        if (field === undefined || loc === undefined) continue;
        const isStaffs = type === printed.getMutationType() && staffMutations.has(name.value);
        const isNullable = fieldType.kind !== Kind.NON_NULL_TYPE;
        texts.push(sdl.slice(written, loc.end));
        if (isNullable && nullMeansError(typename, field)) texts.push(' @semanticNonNull');
        if (isStaffs) texts.push(' @tag(name: "staff")');
        written = loc.end;
      }
    },
  });
  return `${texts.join('')}${sdl.slice(written)}\n`;
}

function nullMeansError(typename: string, field: GraphQLField<unknown, unknown>): boolean {
  return (
    fieldExtensionsOf(field).nullMeansError === true ||
    typename === 'Mutation' ||
    (typename.endsWith('Connection') && (field.name === 'nodes' || field.name === 'edges')) ||
    (typename.endsWith('Edge') && field.name === 'node')
  );
}
