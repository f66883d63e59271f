import { readFileSync } from 'node:fs';
import { composeServices } from '@theguild/federation-composition';
import { buildSchema, isAbstractType, isObjectType, parse } from 'graphql';
import { expect, test } from 'vitest';
import { printedSchema, schema } from '../../src/schema/schema.ts';

/** docs/clients.md configures the caches of clients as the schema requires. */

const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const namesIn = (text = '') => [...text.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort();

test('`Node` is the only interface and there is no union, so Apollo needs no list of possible types', () => {
  expect(types.filter(isAbstractType).map(({ name }) => name)).toEqual(['Node']);
});

test('the `keys` for graphcache contain every type without an id, except those that graphcache knows', () => {
  const [, said] = /Object\.fromEntries\(\s*\[([\s\S]*?)\]/.exec(page) ?? [];
  const keyless = types.filter(
    (type) =>
      isObjectType(type) &&
      type.getFields().id === undefined &&
      !/^(Query|Mutation|PageInfo)$|(Connection|Edge)$/.test(type.name),
  );
  expect(namesIn(said)).toEqual(keyless.map(({ name }) => name).sort());
});

test('a federation gateway composes the unchanged schema with another subgraph', () => {
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
