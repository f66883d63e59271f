import {
  buildClientSchema,
  getIntrospectionQuery,
  type IntrospectionOptions,
  type IntrospectionQuery,
} from 'graphql';
import { serverAudits } from 'graphql-http';
import { describe, expect, test } from 'vitest';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { shareServerFixture } from '../support/server-fixture.ts';

/** The public audit suite of GraphQL over HTTP, run against the complete server. */

const fixture = await shareServerFixture();

const audits = serverAudits({ url: () => fixture.url, fetchFn: fetch });

test('the audit suite has 61 audits', () => {
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

test('a cookie is no credential, and no other origin is allowed', async () => {
  const query = encodeURIComponent('{ bank { messages { totalCount } } }');
  const answer = await fetch(`${fixture.url}?query=${query}`, { headers: { Cookie: 'session=1' } });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  expect((await answer.json()).errors[0].extensions.code).toBe('MISSING_CREDENTIALS');
  expect(fixture.bank.calls).toEqual([]);
});

describe('introspection', () => {
  /** Tools read the schema with their own queries, most of them without credentials. */

  const everything = {
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  } satisfies IntrospectionOptions;

  /** The query of Apollo Rover, which selects more levels of a type than graphql's own query. */
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
      ['GraphiQL and graphql-codegen, which ask for everything', getIntrospectionQuery(everything)],
      ['Apollo Rover', rover],
    ])('by %s', async (_tool, query) => {
      const answer = await fetch(fixture.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      const { data, errors }: { data: IntrospectionQuery; errors?: unknown } = await answer.json();
      expect(errors).toBeUndefined();
      const schema = buildClientSchema(data);
      expect(schema.getMutationType()?.getFields()).toHaveProperty('makeTransaction');
      expect(fixture.bank.calls).toEqual([]);
    });
  });

  test('introspection is refused if it is switched off; __typename is answered', async () => {
    await using closed = await startBankqlFixture({ introspection: false });
    for (const document of [
      '{ __schema { queryType { name } } }',
      '{ __type(name: "Query") { name } }',
      getIntrospectionQuery(),
    ]) {
      const result = await closed.ask(document);
      expect(result.data).toBeUndefined();
      expect(result.errors?.map(({ message, extensions }) => [extensions.code, message])).toEqual([
        [
          'GRAPHQL_VALIDATION_FAILED',
          'Introspection is switched off here; the operator switches it on with EXPLORE=on.',
        ],
      ]);
    }
    expect((await closed.ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
  });
});
