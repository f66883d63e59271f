import {
  buildClientSchema,
  getIntrospectionQuery,
  type IntrospectionOptions,
  type IntrospectionQuery,
} from 'graphql';
import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';
import { documented } from '../support/documented.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** The public audit suite of GraphQL over HTTP, against the server as it is served. */

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const audits = serverAudits({ url: () => fixture.url, fetchFn: fetch });

test('the suite is as long as it was: 61 audits', () => {
  expect(audits).toHaveLength(61);
});

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
  '%s %s',
  async (_id, _name, audit) => {
    const result = await audit.fn();
    expect(
      result.status === 'ok' ? 'ok' : `${result.status}: ${'reason' in result ? result.reason : ''}`,
    ).toBe('ok');
  },
);

describe('graphql-cop', () => {
  /** The 13 checks that graphql-cop makes of a public endpoint; each test says what must not be found. */

  let fixture: ServerFixture;
  beforeAll(async () => {
    fixture = await startServerFixture({ introspection: false });
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const post = async (body: object) => {
    const answer = await fetch(fixture.url, postOf(body, { 'User-Agent': 'graphql-cop' }));
    const text = await answer.text();
    return { text, json: JSON.parse(text) };
  };
  const times = (count: number, make: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => make(index)).join(' ');

  test.each([
    ['1. alias overloading: 101 aliases', `{ ${times(101, (index) => `alias${index}:__typename`)} }`],
    [
      '3. circular introspection',
      '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }',
    ],
    ['5. field duplication: 500 times the same field', `{ bank { ${times(501, () => 'bankId')} } }`],
    ['10. introspection', '{ __schema { types { name fields { name } } } }'],
  ])('%s is not answered', async (_what, query) => {
    expect((await post({ query: `query cop ${query}` })).json.data).toBeUndefined();
  });

  test('2. array batching: ten queries in one request are not answered', async () => {
    const { json } = await post(Array.from({ length: 10 }, () => ({ query: 'query cop { __typename }' })));
    expect(Array.isArray(json)).toBe(false);
  });

  test('4. directive overloading: ten unknown directives do not make ten errors', async () => {
    const { json } = await post({ query: `query cop { __typename ${times(10, () => '@aa')} }` });
    expect(json.errors).toHaveLength(1);
  });

  test('6. field suggestions are not given', async () => {
    expect((await post({ query: 'query cop { __schema { directive } }' })).text).not.toContain(
      'Did you mean',
    );
    expect((await post({ query: 'query cop { bnk { bankId } }' })).text).not.toContain('Did you mean');
  });

  test('7. a mutation by GET is not executed', async () => {
    const mutation = 'mutation cop { putProduct(input: { product: {} }) { trackId } }';
    const answer = await fetch(`${fixture.url}?query=${encodeURIComponent(mutation)}`);
    expect(answer.status).toBe(405);
  });

  test('8. a query by GET carries no ambient credentials: it is answered to whoever shows their own', async () => {
    const answer = await fetch(`${fixture.url}?query=${encodeURIComponent('query cop { __typename }')}`);
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    const withCookie = await fetch(
      `${fixture.url}?query=${encodeURIComponent('{ bank { messages { totalCount } } }')}`,
      { headers: { Cookie: 'session=1' } },
    );
    expect((await withCookie.json()).errors[0].extensions.code).toBe('MISSING_CREDENTIALS');
  });

  test('9. GraphiQL is not there', async () => {
    for (const path of ['/graphql', '/graphiql', '/playground', '/console', '/']) {
      const answer = await fetch(`${fixture.server.url}${path}`, { headers: { Accept: 'text/html' } });
      expect(await answer.text()).not.toMatch(/graphiql|playground/i);
    }
  });

  test('11. a POST as a form is not executed', async () => {
    const answer = await fetch(fixture.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'query=query+cop+{__typename}',
    });
    expect(answer.status).toBe(415);
  });

  test('12. no trace is told', async () => {
    expect((await post({ query: 'query cop { __typename }' })).json).toEqual({
      data: { __typename: 'Query' },
    });
  });

  test('13. no exception is told', async () => {
    const { json, text } = await post({ query: 'query cop { node(id: "x") { id } }' });
    expect(json.errors[0].extensions).toEqual(documented({ code: 'BAD_USER_INPUT', retryable: false }));
    expect(text).not.toMatch(/stack|exception|\bat \//i);
  });

  test('after all of them the bank has not been asked', () => {
    expect(fixture.bank.calls).toEqual([]);
  });
});

describe('introspection', () => {
  /** Tools read the schema with queries of their own, and most without credentials. */

  let bank: RecordingBank;
  let bankql: TestBankql;
  beforeAll(async () => {
    bank = await startRecordingBank();
    bankql = await createTestBankql({ bankUrl: bank.url });
  });
  afterAll(async () => {
    await bankql[Symbol.asyncDispose]();
    await bank.close();
  });

  const everything = {
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  } satisfies IntrospectionOptions;

  /** Apollo Rover's, which asks for more levels of a type than graphql does by default. */
  const typeRef = (levels: number): string =>
    levels === 0 ? 'kind name' : `kind name ofType { ${typeRef(levels - 1)} }`;
  const rover = `query GraphIntrospectQuery {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types { ...FullType }
    directives { name description locations args { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description
  fields(includeDeprecated: true) {
    name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason
  }
  inputFields { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { ${typeRef(9)} }`;

  describe('the schema can be read without credentials', () => {
    test.each<[string, string]>([
      ['graphql by default', getIntrospectionQuery()],
      ...Object.keys(everything).map((option): [string, string] => [
        `graphql with ${option}`,
        getIntrospectionQuery({ descriptions: false, [option]: true }),
      ]),
      ['GraphiQL and graphql-codegen, which ask for everything', getIntrospectionQuery(everything)],
      ['Apollo Rover', rover],
    ])('by %s', async (_tool, query) => {
      const { data, errors } = await bankql.ask<IntrospectionQuery, never>(query, undefined, {});
      expect(errors).toBeUndefined();
      if (!data) throw new Error('no data');
      const schema = buildClientSchema(data);
      expect(schema.getMutationType()?.getFields()).toHaveProperty('makeTransaction');
      expect(bank.calls).toEqual([]);
    });
  });
});
