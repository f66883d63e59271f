import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { defaultFieldResolver, GraphQLError, type GraphQLSchema, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { credentials } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** Promise 22: bankql executes an operation as plugins of yoga and Envelop have changed it. */

const query = '{ bank { account(accountId: "A") { label balance { amount } owners { legalName } } } }';

async function withPlugins(...plugins: readonly Plugin[]) {
  const fixture = await startBankqlFixture({ plugins });
  fixture.bank.otherwise(anyAnswer);
  return fixture;
}

const forbidden = () =>
  new GraphQLError('Only tellers see balances.', { extensions: { code: 'NOT_A_TELLER', role: 'teller' } });

/** A usual permission plugin: it copies the schema, and its resolvers check the context first. */
const permissions: Plugin = {
  onSchemaChange({ schema, replaceSchema }) {
    if (seen.has(schema)) return;
    const guarded = mapSchema(schema as GraphQLSchema, {
      [MapperKind.OBJECT_FIELD](field, name, typeName) {
        if (`${typeName}.${name}` === 'Account.bankId') return null;
        if (`${typeName}.${name}` !== 'Account.balance') return undefined;
        const { resolve = defaultFieldResolver } = field;
        return {
          ...field,
          resolve(source, args, context, info) {
            if (context.role !== 'teller') throw forbidden();
            return resolve(source, args, context, info);
          },
        };
      },
    });
    seen.add(guarded);
    replaceSchema(guarded);
  },
};
const seen = new WeakSet<object>();
const parsed = parse('{ __typename }');

const roleOf: Plugin = {
  onContextBuilding: ({ context, extendContext }) =>
    extendContext({
      role: (context as { request: Request }).request.headers.get('x-role'),
    } as object),
};

test('a plugin that replaces the schema decides what is valid and what is resolved', async () => {
  await using plain = await withPlugins();
  await using guarded = await withPlugins(permissions, roleOf);
  const expected = await plain.ask(query);
  expect(expected.errors).toBeUndefined();
  expect(await guarded.ask(query, {}, { ...credentials, 'X-Role': 'teller' })).toEqual(expected);
  expect(guarded.bank.lines().sort()).toEqual(plain.bank.lines().sort());
  const refused = await guarded.ask(query);
  expect(refused.errors).toMatchObject([
    {
      message: 'Only tellers see balances.',
      path: ['bank', 'account', 'balance'],
      extensions: { code: 'NOT_A_TELLER', role: 'teller' },
    },
  ]);
  // This is the field that the plugin's schema lacks.
  expect(failuresOf(await guarded.ask('{ bank { account(accountId: "A") { bankId } } }'))).toEqual([
    'request GRAPHQL_VALIDATION_FAILED',
  ]);
});

test('a plugin that sets a schema for each request has each of them executed', async () => {
  const schemas = new Map<string | null, GraphQLSchema>();
  let own: GraphQLSchema | null = null;
  await using fixture = await withPlugins({
    onSchemaChange({ schema }) {
      own ??= schema as GraphQLSchema;
    },
    onEnveloped({ context, setSchema }) {
      const role = (context as unknown as { request: Request }).request.headers.get('x-role');
      const label = (text: string) =>
        mapSchema(own as GraphQLSchema, {
          [MapperKind.OBJECT_FIELD]: (field, name) =>
            name === 'label' ? { ...field, resolve: () => text } : undefined,
        });
      const schema = schemas.get(role) ?? label(String(role));
      schemas.set(role, schema);
      setSchema(schema);
    },
  });
  const labelFor = async (role: string) => {
    const asked = '{ bank { account(accountId: "A") { label } } }';
    return (await fixture.ask(asked, {}, { ...credentials, 'X-Role': role })).data;
  };
  for (const role of ['one', 'two', 'one'])
    expect(await labelFor(role)).toEqual({ bank: { account: { label: role } } });
});

test('a plugin that extends the context with names of bankql’s members has no effect on them', async () => {
  const names = ['session', 'caller', 'operation', 'budget', 'defaults', 'credentials', 'payments', 'lists'];
  const seenByResolver: unknown[] = [];
  const added = Object.fromEntries(names.map((name) => [name, `the plugin’s ${name}`]));
  await using plain = await withPlugins();
  await using extended = await withPlugins({
    onContextBuilding: ({ extendContext }) => extendContext(added),
    onSchemaChange({ schema }) {
      const field = (schema as GraphQLSchema).getQueryType()?.getFields().bank;
      const { resolve = defaultFieldResolver } = field ?? {};
      if (field)
        field.resolve = (source, args, context, info) => {
          seenByResolver.push(names.map((name) => context[name]));
          return resolve(source, args, context, info);
        };
    },
  });
  const expected = await plain.ask(query);
  expect(await extended.ask(query)).toEqual(expected);
  expect(seenByResolver.at(-1)).toEqual(Object.values(added));
  expect(extended.bank.lines().sort()).toEqual(plain.bank.lines().sort());
});

test('the parameters that a plugin sets are those that are executed', async () => {
  const changed: Plugin = {
    onParams: ({ params, setParams }) =>
      setParams({
        ...params,
        query: 'query Named($id: ID!) { bank { account(accountId: $id) { accountId } } }',
        variables: { id: 'from params' },
      }),
  };
  await using fixture = await withPlugins(changed);
  const answer = (id: string) => ({ bank: { account: { accountId: id } } });
  expect((await fixture.ask('{ __typename }')).data).toEqual(answer('from params'));
  await using executed = await withPlugins(changed, {
    onExecute: ({ args }) => {
      args.variableValues = { id: 'from execute' };
    },
  });
  expect((await executed.ask('{ __typename }')).data).toEqual(answer('from execute'));
});

test('a plugin may replace the document, which is executed with bankql’s limits', async () => {
  await using fixture = await withPlugins({
    onParse: ({ setParsedDocument }) => setParsedDocument(parsed),
  });
  expect((await fixture.ask('{ bank { bankId } }')).data).toEqual({ __typename: 'Query' });
});

test('a plugin stops an operation with a code and a status of its own, before any call', async () => {
  const stop = () =>
    new GraphQLError('Pay first.', { extensions: { code: 'UNPAID', http: { status: 402 } } });
  const stoppers: readonly Plugin[] = [
    {
      onContextBuilding() {
        throw stop();
      },
    },
    { onExecute: ({ setResultAndStopExecution }) => setResultAndStopExecution({ errors: [stop()] }) },
    {
      onParams() {
        throw stop();
      },
    },
  ];
  for (const stopper of stoppers) {
    await using fixture = await withPlugins(stopper);
    const body = JSON.stringify({ query });
    const headers = { ...credentials, 'Content-Type': 'application/json' };
    const request = new Request('http://bankql.test/graphql', { method: 'POST', headers, body });
    const answer = await fixture.bankql.fetch(request);
    expect(await answer.json()).toEqual({
      errors: [
        expect.objectContaining({
          message: 'Pay first.',
          extensions: expect.objectContaining({ code: 'UNPAID' }),
        }),
      ],
    });
    expect(answer.status).toBe(402);
    expect(fixture.bank.calls).toEqual([]);
  }
});

test('what depends on a plugin is kept by no cache: it may show an answer to one caller alone', async () => {
  await using fixture = await withPlugins(roleOf, permissions);
  const url = `http://bankql.test/graphql?${new URLSearchParams({ query: '{ bank { branches { totalCount } } }' })}`;
  const headers = { ...credentials, 'x-role': 'teller' };
  const answer = await fixture.bankql.fetch(new Request(url, { headers }));
  expect(await answer.json()).toMatchObject({
    data: { bank: { branches: { totalCount: expect.any(Number) } } },
  });
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

test('a status that Fetch does not have is a failure, which is answered', async () => {
  const error = new GraphQLError('Odd.', { extensions: { code: 'ODD', http: { status: 600 } } });
  const odd: Plugin = {
    onExecute: ({ setResultAndStopExecution }) => setResultAndStopExecution({ errors: [error] }),
  };
  await using fixture = await startServerFixture({ plugins: [odd] });
  const headers = { ...credentials, 'Content-Type': 'application/json' };
  const answer = await fixture.server.fetch(
    new Request('http://bankql.test/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) }),
  );
  expect(answer.status).toBe(500);
  expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL' } }] });
});
