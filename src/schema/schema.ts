import './scalars.ts';
import './account.ts';
import './account-mutations.ts';
import './account-ref.ts';
import './bank.ts';
import './branch.ts';
import './branch-mutations.ts';
import './customer.ts';
import './customer-mutations.ts';
import './known-transactions.ts';
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
  type GraphQLSchema,
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

/** The schema as in schema.graphql: sorted, so that the order of the code has no effect. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;

function nullMeansError(typename: string, field: GraphQLField<unknown, unknown>): boolean {
  return (
    fieldExtensionsOf(field).nullMeansError === true ||
    typename === 'Mutation' ||
    (typename.endsWith('Connection') && (field.name === 'nodes' || field.name === 'edges')) ||
    (typename.endsWith('Edge') && field.name === 'node')
  );
}
