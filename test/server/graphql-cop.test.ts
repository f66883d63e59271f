import { afterAll, beforeAll, expect, test } from 'vitest';
import { documented } from '../support/documented.ts';
import { postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

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
  expect((await post({ query: 'query cop { __schema { directive } }' })).text).not.toContain('Did you mean');
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
  expect((await post({ query: 'query cop { __typename }' })).json).toEqual({ data: { __typename: 'Query' } });
});

test('13. no exception is told', async () => {
  const { json, text } = await post({ query: 'query cop { node(id: "x") { id } }' });
  expect(json.errors[0].extensions).toEqual(documented({ code: 'BAD_USER_INPUT', retryable: false }));
  expect(text).not.toMatch(/stack|exception|\bat \//i);
});

test('after all of them the bank has not been asked', () => {
  expect(fixture.bank.calls).toEqual([]);
});
