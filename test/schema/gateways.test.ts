import { composeServices } from '@theguild/federation-composition';
import { buildSchema, isObjectType, parse } from 'graphql';
import { expect, test } from 'vitest';
import { printedSchema } from '../../src/schema/schema.ts';

test('a gateway composes the schema as it is with another subgraph', () => {
  const offers = `
    extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
    type Query { offers: [Offer!]! }
    type Offer @key(fields: "id") { id: ID! text: String! branchId: ID! }
  `;
  const result = composeServices([
    { name: 'bankql', typeDefs: parse(printedSchema()), url: 'http://localhost/graphql' },
    { name: 'offers', typeDefs: parse(offers), url: 'http://localhost/offers' },
  ]);
  expect(result.errors).toBeUndefined();
  const query = buildSchema(result.publicSdl ?? '').getQueryType();
  expect(isObjectType(query) && Object.keys(query.getFields())).toEqual(
    expect.arrayContaining(['bank', 'viewer', 'payment', 'nodes', 'offers']),
  );
});
