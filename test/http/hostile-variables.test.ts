import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { anyCharacter } from '../support/any-text.ts';
import { exact } from '../support/bankql-fixture.ts';
import { shareServerFixture } from '../support/server-fixture.ts';

/** Invalid and unusual requests: documents that are valid, nearly valid or invalid; variables; headers. */

const oneOf = (words: string) => fc.constantFrom(...words.split(' '));

const name = oneOf(
  'bank node nodes payment metadata account customer branches branch accounts owners otherAccounts edges totalCount pageInfo label balance amount id bankId __typename __proto__ constructor prototype toString __schema makeTransaction nope',
);
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  oneOf(`.. .  a/b %2e%2e a\u202eb \ud800 __proto__ ${'x'.repeat(200)} 1e3 -0`),
);
const value: fc.Arbitrary<string> = fc.oneof(
  text.map((written) => JSON.stringify(written)),
  oneOf('1 -1 1.5 1e999 true null VIEWS [] {} [["x"]] $v {id:"x"} """block"""'),
);
const argument = fc.tuple(
  oneOf('id ids accountId bankId viewId first after filter scope input __proto__'),
  value,
);

const { selection } = fc.letrec<{ selection: string; field: string }>((tie) => ({
  selection: fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: tie('field') },
        { weight: 1, arbitrary: fc.constantFrom('...F', '... on Account { label }', '... on Node { id }') },
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((fields) => `{ ${fields.join(' ')} }`),
  field: fc
    .tuple(
      fc.option(fc.constantFrom('a', 'b', '__proto__'), { nil: undefined }),
      name,
      fc.array(argument, { maxLength: 2 }),
      fc.constantFrom('', '', '', '@skip(if: true)', '@include(if: $v)', '@nope'),
      fc.option(tie('selection'), { nil: '', freq: 2, maxDepth: 6 }),
    )
    .map(
      ([alias, field, args, directive, below]) =>
        `${alias === undefined ? '' : `${alias}: `}${field}${
          args.length === 0 ? '' : `(${args.map(([key, given]) => `${key}: ${given}`).join(', ')})`
        } ${directive} ${below}`,
    ),
}));

const document = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(
        ...['query', 'mutation', 'subscription', 'query Q($v: Boolean = true)', 'query ($v: Decimal)', ''],
      ),
      selection,
      fc.constantFrom('', ' fragment F on Bank { bankId }', ' fragment F on Query { ...F }'),
    )
    .map((parts) => parts.join(' ')),
  text,
);

const body = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(document, fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 1 }))
      .map(([query, variables, operationName]) =>
        JSON.stringify({
          query,
          variables: { v: variables },
          operationName: typeof operationName === 'string' ? operationName : undefined,
        }),
      ),
  },
  { weight: 2, arbitrary: document.map((query) => JSON.stringify({ query })) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constant('{"query":"{__typename}","variables":{"__proto__":{"polluted":true}}}'),
  },
);

/** A text that an HTTP client can send in a header. */
const headerText = fc.stringMatching(/^[!-~]([ -~\u00a1-\u00ff]{0,30}[!-~])?$/);

const headers = fc
  .record(
    {
      'Ocp-Apim-Subscription-Key': headerText,
      'Auth-Provider-Name': headerText,
      'Auth-ID': headerText,
      Accept: oneOf(
        '*/* application/json application/graphql-response+json text/event-stream multipart/mixed text/html',
      ),
      'X-Request-Id': headerText,
    },
    { requiredKeys: [] },
  )
  .map((given) => ({ 'Content-Type': 'application/json', ...given }));

const fuzzedRequest = fc.record({ body, headers });

/** Faults of a body other than its document: variables, names, bytes. test/graphql/document-limits.test.ts tests documents. */

const fixture = await shareServerFixture({ limits: { timeoutMs: 20_000, restCalls: 50 } });
const prototype = Object.getOwnPropertyNames(Object.prototype).sort();
beforeEach(() => {
  const account = { id: 'a', balance: { amount: exact('1.00') } };
  fixture.bank.otherwise({ body: { accounts: [account], branches: [{ acceptsDeposits: true, id: 'b' }] } });
});
afterAll(async () => {
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(prototype);
  expect((await fetch(`${fixture.server.url}/health`)).status).toBe(200);
});

const key = { 'Ocp-Apim-Subscription-Key': 'k', 'Auth-Provider-Name': 'p', 'Auth-ID': 'a' };
const send = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}) =>
  fetch(fixture.url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json',
      ...key,
      ...headers,
    },
    body: Buffer.from(body),
  });

const account = 'query ($v: ID!) { bank { account(accountId: $v) { label } } }';
const put = 'mutation ($v: AccountInput!) { putAccount(input: { accountId: "a", account: $v }) { trackId } }';
const pay = 'mutation ($v: MakeTransactionInput!) { makeTransaction(input: $v) { payment { trackId } } }';
const nodes = 'query ($v: [ID!]!) { nodes(ids: $v) { id } }';
/** A body whose variable `v` is this JSON text, which JSON.stringify could not write. */
const withText = (query: string, v: string) => `{"query":${JSON.stringify(query)},"variables":{"v":${v}}}`;
const withValue = (query: string, v: unknown) => JSON.stringify({ query, variables: { v } });
const deep = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const bytes = (before: string, invalid: readonly number[], after: string) =>
  Buffer.concat([Buffer.from(before), Buffer.from(invalid), Buffer.from(after)]);
const payment = (value: string) =>
  `{"accountId":"a","to":{"accountId":"b"},"value":${value},"idempotencyKey":"duplicate"}`;
const [before, after] = ['{"balance":{"amount":"1"},"label":"a', '"}'];

describe('one error under 1 kB, before any call, refuses', () => {
  test.each<[string, string | Buffer, string]>([
    ['a list 49,000 levels deep', withText(account, deep('[', ']', 49_000)), 'BAD_USER_INPUT'],
    [
      'an object 16,000 levels deep',
      withText(account, deep('{"a":', '}', 16_000).replace(':}', ':1}')),
      'BAD_USER_INPUT',
    ],
    [
      'a deep list as an amount',
      withText(put, `{"balance":{"amount":${deep('[', ']', 40_000)}}}`),
      'BAD_USER_INPUT',
    ],
    [
      'an amount of 90,000 digits',
      withValue(put, { balance: { amount: '9'.repeat(90_000) } }),
      'BAD_USER_INPUT',
    ],
    [
      '7,000 fields that are none',
      withValue(put, { balance: {}, ...Object.fromEntries(many(7000, (n) => [`k${n}`, 1])) }),
      'BAD_USER_INPUT',
    ],
    [
      '20,000 values that are wrong',
      withValue(put, { balance: {}, ownerIds: many(20_000, () => ({})) }),
      'BAD_USER_INPUT',
    ],
    ['__proto__ in a variable', withText(put, '{"balance":{},"__proto__":{"label":"x"}}'), 'BAD_USER_INPUT'],
    [
      'constructor in a variable',
      withText(put, '{"balance":{},"constructor":{"prototype":{}}}'),
      'BAD_USER_INPUT',
    ],
    [
      '__proto__ in place of a field',
      withText(put, '{"__proto__":{"balance":{"amount":"1"}}}'),
      'BAD_USER_INPUT',
    ],
    [
      '__proto__ in place of the variables',
      `{"query":${JSON.stringify(account)},"variables":{"__proto__":{"v":"a"}}}`,
      'BAD_USER_INPUT',
    ],
    [
      '__proto__ in a literal',
      JSON.stringify({
        query: put
          .replace('$v }', '{ balance: {}, __proto__: { label: "x" } } }')
          .replace('($v: AccountInput!)', ''),
      }),
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['__proto__ alone', '{"__proto__":{"query":"{__typename}"}}', 'BAD_USER_INPUT'],
    [
      'extensions that are a deep list',
      `{"query":"{__typename}","extensions":${deep('[', ']', 49_000)}}`,
      'BAD_USER_INPUT',
    ],
    ['UTF-16', Buffer.from('{"query":"{__typename}"}', 'utf16le'), 'BAD_USER_INPUT'],
    [
      'invalid UTF-8 in an id',
      bytes('{"query":"{ bank { account(accountId: \\"a', [0xff], '\\") { label } } }"}'),
      'BAD_USER_INPUT',
    ],
    [
      'a slash in overlong UTF-8',
      bytes(withText(put, before).slice(0, -2), [0xc0, 0xaf], `${after}}}`),
      'BAD_USER_INPUT',
    ],
    ['Latin-1', bytes(withText(put, before).slice(0, -2), [0xe9], `${after}}}`), 'BAD_USER_INPUT'],
    [
      'half a character in an id of the document',
      JSON.stringify({ query: '{ bank { account(accountId: "\\uD800") { label } } }' }),
      'GRAPHQL_PARSE_FAILED',
    ],
    [
      '600 unknown fields',
      JSON.stringify({ query: `{ ${many(600, (n) => `x${n}`).join(' ')} }` }),
      'LIMIT_EXCEEDED',
    ],
    ['30,000 ids that are none', withText(nodes, `[${many(30_000, () => '""').join()}]`), 'BAD_USER_INPUT'],
  ])('%s', async (_what, body, code) => {
    const answer = await send(body);
    const text = await answer.text();
    expect(fixture.bank.calls).toEqual([]);
    expect([400, 413], text.slice(0, 1000)).toContain(answer.status);
    expect(JSON.parse(text)).toEqual({
      errors: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })],
    });
    expect(text.length).toBeLessThan(1024);
  });
});

test.each<[string, string, string, string[]]>([
  ['half a character in an id', account, '"\\ud800"', ['bank', 'account']],
  ['an id of 90,000 characters', account, JSON.stringify('x'.repeat(90_000)), ['bank', 'account']],
])('%s is refused with one error at its field', async (_what, query, value, path) => {
  const text = await (await send(withText(query, value))).text();
  expect(text.length).toBeLessThan(1024);
  expect(JSON.parse(text).errors).toMatchObject([{ path, extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(fixture.bank.calls).toEqual([]);
});

test('1,000 invalid ids have an error for each of the first 100, and one for all others', async () => {
  const text = await (await send(withText(nodes, JSON.stringify(many(1000, () => ''))))).text();
  const { data, errors } = JSON.parse(text);
  expect(data).toEqual({ nodes: Array(1000).fill(null) });
  expect(errors).toHaveLength(101);
  expect(text.length).toBeLessThan(40_000);
  expect(fixture.bank.calls).toEqual([]);
});

test('the last of two amounts in a payment is sent to the bank', async () => {
  await send(withText(pay, payment('{"amount":"1.00","\\u0061mount":"2.00"}')));
  const [sent] = fixture.bank.calls.filter(({ method }) => method === 'POST');
  expect(sent?.body).toContain('"amount":2.00');
});

test('variables that the operation does not declare have no effect', async () => {
  const variables = '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}';
  const answer = await send(`{"query":"{ __typename }","variables":${variables}}`);
  expect(await answer.json()).toEqual({ data: { __typename: 'Query' } });
  expect(Reflect.get({}, 'a')).toBeUndefined();
});

test('`first: 1000000000` answers the whole list with one call; a larger number than an Int is refused', async () => {
  const branches = (first: string) =>
    send(JSON.stringify({ query: `{ bank { branches(first: ${first}) { nodes { branchId } } } }` }));
  const { data } = await (await branches('1000000000')).json();
  expect(data).toEqual({ bank: { branches: { nodes: [{ branchId: 'b' }] } } });
  expect(fixture.bank.calls).toHaveLength(1);
  expect((await branches('10000000000')).status).toBe(400);
});

test('1,000 nodes cost no more calls than an operation may make', async () => {
  const idOf = (n: number) => encodeGlobalId('Customer', `["BANK","c${n}"]`);
  const query = 'query ($v: [ID!]!) { nodes(ids: $v) { ... on Customer { email } } }';
  await (await send(withValue(query, many(1000, idOf)))).text();
  expect(fixture.bank.calls).toHaveLength(50);
});

test('random requests cause no 5xx and no crash', async () => {
  fixture.bank.otherwise({ body: { branches: [], accounts: [], otherAccounts: [], messages: [] } });
  await fc.assert(
    fc.asyncProperty(fuzzedRequest, async ({ body, headers }) => {
      const answer = await fetch(fixture.url, { method: 'POST', headers, body });
      const text = await answer.text();
      expect(answer.status, `${body}\n${text}`).toBeLessThan(500);
      expect(text).not.toContain('INTERNAL');
    }),
    { seed: 20_261_120, numRuns: 250 },
  );
});
