import './scalars.ts';
import './account.ts';
import './account-mutations.ts';
import './account-ref.ts';
import './bank.ts';
import './branch.ts';
import './branch-mutations.ts';
import './customer.ts';
import './customer-mutations.ts';
import './message.ts';
import './message-mutations.ts';
import './metadata.ts';
import './node.ts';
import './other-account.ts';
import './payment.ts';
import './payment-list.ts';
import './payment-mutations.ts';
import './product.ts';
import './product-mutations.ts';
import './transaction.ts';
import './transaction-mutations.ts';
import './transaction-request.ts';
import './viewer.ts';
import {
  GraphQLDeferDirective,
  type GraphQLField,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLStreamDirective,
  isNonNullType,
  isObjectType,
  lexicographicSortSchema,
  printSchema,
  specifiedDirectives,
} from 'graphql';
import { builder } from './builder.ts';
import { fieldExtensionsOf } from './field-extensions.ts';

/** The GraphQL schema; printed, it is schema.graphql. */
export const schema = withNullMeanings(
  builder.toSchema({
    directives: [...specifiedDirectives, GraphQLDeferDirective, GraphQLStreamDirective],
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

/** The schema as in schema.graphql: sorted, so that the order of the code has no effect. */
export const printedSchema = (printed: GraphQLSchema = schema): string =>
  `${printSchema(lexicographicSortSchema(printed))}\n`;

function nullMeansError(typename: string, field: GraphQLField<unknown, unknown>): boolean {
  return (
    fieldExtensionsOf(field).nullMeansError === true ||
    typename === 'Mutation' ||
    (typename.endsWith('Connection') && (field.name === 'nodes' || field.name === 'edges')) ||
    (typename.endsWith('Edge') && field.name === 'node')
  );
}
