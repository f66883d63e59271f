import './scalars.ts';
import './account.ts';
import './account-ref.ts';
import './bank.ts';
import './branch.ts';
import './customer.ts';
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
import './transaction.ts';
import './transaction-request.ts';
import './viewer.ts';
import './writes.ts';
import { GraphQLDeferDirective, lexicographicSortSchema, printSchema, specifiedDirectives } from 'graphql';
import { builder } from './builder.ts';
import { withRestExtensions } from './rest-extensions.ts';

/** The GraphQL schema; schema.graphql is its printed form. */
export const schema = withRestExtensions(
  builder.toSchema({ directives: [...specifiedDirectives, GraphQLDeferDirective] }),
);

/** The schema as in schema.graphql: sorted, so that the order of the code has no effect. */
export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
