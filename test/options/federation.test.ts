import { composeServices } from '@theguild/federation-composition';
import { buildSchema, findSchemaChanges, isObjectType, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { entityKeys, subgraphSdl, toSubgraph } from '../../src/options/federation.ts';
import { encodeGlobalId } from '../../src/schema/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const subgraph = toSubgraph(schema, { showsSdl: true });

const start = async (served = subgraph) => {
  const fixture = await startBankqlFixture({ schema: served });
  fixture.bank.otherwise(anyAnswer);
  return fixture;
};

const entities = `query ($representations: [_Any!]!) {
  _entities(representations: $representations) {
    __typename
    ... on Customer { customerId legalName }
    ... on Branch { branchId name }
    ... on Account { accountId viewId label }
    ... on Bank { bankId }
  }
}`;

test('the entities are all nodes, and their keys are fields', () => {
  const node = schema.getType('Node');
  const nodes = Object.values(schema.getTypeMap()).filter(
    (type) => isObjectType(type) && type.getInterfaces().some((each) => each === node),
  );
  expect(Object.keys(entityKeys()).sort()).toEqual(nodes.map(({ name }) => name).sort());
  for (const type of nodes.filter(isObjectType)) {
    for (const name of entityKeys()[type.name] ?? []) expect(type.getFields()).toHaveProperty(name);
  }
});

test('a subgraph has everything of the schema, and beside it what federation needs alone', () => {
  const changes = findSchemaChanges(schema, subgraph).map(({ description }) => description);
  expect(changes.sort()).toEqual([
    'Field Query._entities was added.',
    'Field Query._service was added.',
    '_Any was added.',
    '_Entity was added.',
    '_Service was added.',
  ]);
});

describe('the SDL', () => {
  test('composes with that of another subgraph, which adds fields to a type by its key', () => {
    const offers = `
      extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
      type Query { offers: [Offer!]! }
      type Offer { text: String! branch: Branch! customer: Customer! }
      type Branch @key(fields: "bankId branchId") { bankId: ID! branchId: ID offers: [Offer!]! }
      type Customer @key(fields: "bankId customerId") { bankId: ID! customerId: ID! offers: [Offer!]! }
    `;
    const result = composeServices([
      { name: 'bankql', typeDefs: parse(subgraphSdl(schema)), url: 'http://localhost/graphql' },
      { name: 'offers', typeDefs: parse(offers), url: 'http://localhost/offers' },
    ]);
    expect(result.errors).toBeUndefined();
    if (result.publicSdl === undefined) throw new Error('nothing was composed');
    const graph = buildSchema(result.publicSdl);
    const fieldsOf = (name: string) => {
      const type = graph.getType(name);
      return isObjectType(type) ? Object.keys(type.getFields()) : [];
    };
    expect(fieldsOf('Branch')).toEqual(expect.arrayContaining(['name', 'offers']));
    expect(fieldsOf('Query')).toEqual(expect.arrayContaining(['viewer', 'bank', 'offers']));
    expect(fieldsOf('Query')).not.toContain('_entities');
  });

  test('is printed once, however often it is asked for', async () => {
    let prints = 0;
    const counted = Object.create(schema, {
      getDirectives: {
        value: () => {
          prints++;
          return schema.getDirectives();
        },
      },
    });
    await using fixture = await start(toSubgraph(counted, { showsSdl: true }));
    const before = prints;
    const aliases = Array.from({ length: 20 }, (_, n) => `s${n}: _service { sdl }`).join(' ');
    for (let time = 0; time < 2; time++)
      expect((await fixture.ask(`{ ${aliases} }`)).data).toHaveProperty('s19.sdl', subgraphSdl(schema));
    const printed = prints - before;
    expect(printed).toBeGreaterThan(0);
    subgraphSdl(counted);
    expect(printed).toBe(prints - before - printed);
  });

  test('is what `_service` answers, without a call of the bank', async () => {
    await using fixture = await start();
    const result = await fixture.ask('{ _service { sdl } }');
    expect(result).toEqual({ data: { _service: { sdl: subgraphSdl(schema) } } });
    expect(fixture.bank.calls).toEqual([]);
  });

  test('is not shown where introspection is off', async () => {
    await using fixture = await start(toSubgraph(schema, { showsSdl: false }));
    const result = await fixture.ask('{ _service { sdl } }');
    expect(failuresOf(result)).toEqual(['_service FORBIDDEN']);
    expect(result.errors?.[0]?.message).toContain('bankql schema --federation');
  });
});

describe('_entities', () => {
  test('reads each by its key, in their order, with the calls that `nodes` makes', async () => {
    await using fixture = await start();
    const representations = [
      { __typename: 'Branch', bankId: 'BANK', branchId: 'BRANCH' },
      { __typename: 'Customer', bankId: 'BANK', customerId: 'C' },
      { __typename: 'Account', id: encodeGlobalId('Account', '["BANK","A","owner"]') },
      { __typename: 'Customer', bankId: 'BANK', customerId: 'C' },
      { __typename: 'Bank', bankId: 'B2' },
    ];
    const result = await fixture.ask(entities, { representations });
    expect(result.errors).toBeUndefined();
    expect(result.data).toEqual({
      _entities: [
        { __typename: 'Branch', branchId: 'BRANCH', name: expect.any(String) },
        { __typename: 'Customer', customerId: 'C', legalName: expect.any(String) },
        { __typename: 'Account', accountId: expect.any(String), viewId: 'owner', label: expect.any(String) },
        { __typename: 'Customer', customerId: 'C', legalName: expect.any(String) },
        { __typename: 'Bank', bankId: 'B2' },
      ],
    });
    expect(fixture.bank.calls.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'GET /v1/api/banks/BANK/accounts/A/owner/views',
      'GET /v1/api/banks/BANK/branches',
      'GET /v1/api/banks/BANK/customers/C',
    ]);
  });

  test('makes no call for fields of the key alone', async () => {
    await using fixture = await start();
    const result = await fixture.ask(
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on Customer { customerId } } }',
      { r: [{ __typename: 'Customer', bankId: 'BANK', customerId: 'C' }] },
    );
    expect(result).toEqual({ data: { _entities: [{ customerId: 'C' }] } });
    expect(fixture.bank.calls).toEqual([]);
  });

  test('fails one by one, and says what a representation needs', async () => {
    await using fixture = await start();
    const representations = [
      { __typename: 'Viewer' },
      { __typename: 'Customer', bankId: 'BANK' },
      { __typename: 'Payment' },
      { __typename: 'Customer', id: encodeGlobalId('Bank', '["BANK"]') },
      { __typename: 'Customer', id: 'forged' },
      { __typename: 'Customer', bankId: '..', customerId: 'C' },
      'Customer',
      { __typename: 'constructor' },
      { __typename: 'Customer', bankId: 'BANK', customerId: 'C' },
    ];
    const result = await fixture.ask(entities, { representations });
    expect(failuresOf(result)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].map((index) => `_entities.${index} BAD_USER_INPUT`),
    );
    const messages = result.errors?.map(({ message }) => message) ?? [];
    expect(messages).toContain('A representation of Customer needs its key: id, or bankId, customerId.');
    expect(messages).toContain('A representation of Payment needs its key: id.');
    expect(messages).toContain('"Viewer" is no entity of this subgraph.');
    expect(result.data).toMatchObject({ _entities: { 8: { customerId: 'C' } } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('takes as many as `nodes` does, both of them together', async () => {
    await using fixture = await start();
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => ({
        __typename: 'Customer',
        bankId: 'BANK',
        customerId: `C${n}`,
      }));
    const over = await fixture.ask(entities, { representations: many(101) });
    expect(over.errors?.[0]).toMatchObject({
      message: 'Ask for at most 100 entities at a time.',
      extensions: { code: 'BAD_USER_INPUT' },
    });
    const both = await fixture.ask(
      `query ($r: [_Any!]!) {
        _entities(representations: $r) { __typename }
        nodes(ids: ["${encodeGlobalId('Bank', '["BANK"]')}"]) { id }
      }`,
      { r: many(100) },
    );
    expect(both.errors?.[0]?.extensions.code).toBe('LIMIT_EXCEEDED');
    expect(fixture.bank.calls).toEqual([]);
  });
});

test('without FEDERATION there is neither', async () => {
  await using fixture = await start(schema);
  const result = await fixture.ask('{ _service { sdl } }');
  expect(result.errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
});
