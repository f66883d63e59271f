import { getIntrospectionQuery } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { parseWithin } from '../../src/graphql/document-size.ts';
import { parseParams } from '../../src/graphql/params.ts';
import { createTestBankql } from '../support/bankql.ts';
import { shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, bankql } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise({ body: { branches: [] } }));

const times = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);

const nested = (levels: number) =>
  `{ bank { account(accountId: "a") { ${'otherAccount(otherAccountId: "o") { account { '.repeat(levels)} label ${'} } '.repeat(levels)} } } }`;

/** Each fragment adds two fields at the root. */
const fanOut = `{ ...F0 } ${times(25, (index) => `fragment F${index} on Query { a${index}: __typename ...F${index + 1} b${index}: node(id: "x") { ...N${index} } }`)}
  fragment F25 on Query { __typename } ${times(25, (index) => `fragment N${index} on Node { id }`)}`;
/** Each fragment doubles the number of fields: 2^17 fields in less than 2 kB. */
const doubling = `query { bank { ...F0 } } ${times(17, (index) => `fragment F${index} on Bank { bankId ...G${index} ...H${index} } fragment G${index} on Bank { ...F${index + 1} } fragment H${index} on Bank { ...F${index + 1} }`)} fragment F17 on Bank { bankId }`;

describe('refused with one error, under 1 kB, before any call', () => {
  test.each<[string, string, string]>([
    ['17 levels', nested(8), 'LIMIT_EXCEEDED'],
    ['300 levels', `{ ${times(300, () => 'bank {')} bankId ${'}'.repeat(301)}`, 'LIMIT_EXCEEDED'],
    [
      '31 aliases below the root, in a fragment at the root',
      `{ ...A } fragment A on Query { b: bank { ${times(31, (index) => `a${index}: bankId`)} } }`,
      'LIMIT_EXCEEDED',
    ],
    ['31 aliases', `{ bank { ${times(31, (index) => `a${index}: bankId`)} } }`, 'LIMIT_EXCEEDED'],
    ['101 aliases of __typename', `{ ${times(101, (index) => `a${index}: __typename`)} }`, 'LIMIT_EXCEEDED'],
    ['51 fields at the root', `{ ${times(51, (index) => `a${index}: bank { bankId }`)} }`, 'LIMIT_EXCEEDED'],
    ['501 times the same field', `{ bank { ${times(501, () => 'bankId')} } }`, 'LIMIT_EXCEEDED'],
    ['21 directives', `{ bank { bankId ${times(21, () => '@include(if: true)')} } }`, 'LIMIT_EXCEEDED'],
    ['10 unknown directives', `{ __typename ${times(10, () => '@aa')} }`, 'GRAPHQL_VALIDATION_FAILED'],
    ['2,001 tokens', `{ bank { ${times(2001, () => 'bankId')} } }`, 'LIMIT_EXCEEDED'],
    ['100,000 aliases', `{ ${times(9000, (index) => `a${index}:id`)} }`, 'LIMIT_EXCEEDED'],
    ['a fragment that holds itself', '{ ...F } fragment F on Query { ...F }', 'GRAPHQL_VALIDATION_FAILED'],
    [
      'fragments in a ring',
      '{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['fragments that fan out', fanOut, 'LIMIT_EXCEEDED'],
    ['fragments that double', doubling, 'LIMIT_EXCEEDED'],
    [
      'a deep list',
      `{ bank(bankId: ${'['.repeat(900)}${']'.repeat(900)}) { bankId } }`,
      'GRAPHQL_VALIDATION_FAILED',
    ],
  ])('%s', async (_what, document, code) => {
    const answer = await bankql.fetch(
      new Request('http://bankql.test/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json' },
        body: JSON.stringify({ query: document }),
      }),
    );
    const text = await answer.text();
    expect(answer.status).toBe(400);
    expect(text.length).toBeLessThan(1024);
    expect(JSON.parse(text)).toEqual({
      errors: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })],
    });
    expect(bank.calls).toEqual([]);
  });
});

test('a document may have twice as many lines as tokens', () => {
  const limits = { tokens: 10, depth: 5, fields: 5, rootFields: 5, aliases: 5, directives: 5 };
  for (const end of ['\n', '\r\n', '\r']) {
    expect(parseWithin(`{${end.repeat(19)}a}`, limits).definitions).toHaveLength(1);
    expect(() => parseWithin(`{${end.repeat(20)}a}`, limits)).toThrow('more than 20 lines');
  }
});

test('what is as large as it may be is answered', async () => {
  const aliases = `{ bank { ${times(30, (index) => `a${index}: bankId`)} } }`;
  expect((await bankql.ask(aliases)).errors).toBeUndefined();
  expect((await bankql.ask(getIntrospectionQuery())).errors).toBeUndefined();
  // Gateways send 50 delegated fields in one request, each with an alias in addition to those of the client's query.
  const own = times(30, (index) => `a${index}: bankId`);
  const delegated = times(49, (index) => `_${index}_bank: bank { bankId }`);
  const { data, errors } = await bankql.ask<object, object>(
    `{ ${delegated} ...Last } fragment Last on Query { _49_bank: bank { ${own} } }`,
  );
  expect(errors).toBeUndefined();
  expect(Object.keys(data ?? {})).toHaveLength(50);
});

test('the refusal of a document does not depend on who asked for it before', async () => {
  const document = `{ bank { ${times(31, (index) => `a${index}: bankId`)} } }`;
  const asked = await Promise.all(
    [1, 2, 3].map((caller) => bankql.ask(document, undefined, { 'Auth-ID': `c${caller}` })),
  );
  for (const { errors } of asked) expect(errors?.[0]?.extensions.code).toBe('LIMIT_EXCEEDED');
});

test.each<[string, string, object?]>([
  ['a field', '{ bnk { bankId } }'],
  ['an argument', '{ bank(bankI: "x") { bankId } }'],
  ['a type', 'query ($x: Strin) { __typename @include(if: $x) }'],
  ['an enum value', '{ payments(states: [DON]) { totalCount } }'],
  ['a field of an input', 'mutation { putProduct(input: { produc: {} }) { trackId } }'],
  ['a directive', '{ __typename @includ(if: true) }'],
  [
    'a value in variables',
    'query ($s: PaymentState!) { payments(states: [$s]) { totalCount } }',
    { s: 'DON' },
  ],
])(
  'where the schema may not be asked for, no name of it is suggested for %s',
  async (_what, query, given) => {
    await using closed = await createTestBankql({ bankUrl: bank.url, introspection: false });
    const { errors = [] } = await closed.ask(query, given);
    expect(errors[0]?.message).toBeTypeOf('string');
    expect(JSON.stringify(errors)).not.toContain('Did you mean');
  },
);

describe('the members of a request', () => {
  const named = { query: '{ a }', variables: {} };

  test.each([
    [{ query: '{ a }' }, named],
    [{ query: '{ a }', variables: undefined, extensions: null, documentId: '' }, named],
    [{ query: '{ a }', unknown: 'x', id: 7, __proto__: {} }, named],
    [
      { query: '{ a }', operationName: 'A', variables: { a: 1 }, extensions: { b: [] } },
      { query: '{ a }', operationName: 'A', variables: { a: 1 } },
    ],
  ])('%j is taken', (asked, expected) => {
    expect(parseParams(asked, null)).toEqual(expected);
  });

  test.each([
    [null, /JSON object/],
    ['{ a }', /JSON object/],
    [[{ query: '{ a }' }], /Batches/],
    [{ query: null }, /A request needs a "query"/],
    [{ query: 1 }, /"query" has to be a text/],
    [{ query: '{ a }', operationName: {} }, /"operationName" has to be a text/],
    [{ query: '{ a }', variables: [] }, /"variables" has to be an object/],
    [{ query: '{ a }', variables: '{}' }, /"variables" has to be an object/],
    [{ query: '{ a }', extensions: 1 }, /"extensions" has to be an object/],
    [{ doc_id: 7 }, /"doc_id" has to be a text/],
    [{ documentId: 'secret', doc_id: 'secret 2' }, /"documentId" and "doc_id" differ/],
    [{ documentId: 7 }, /"documentId" has to be a text/],
  ])('%j is refused, and nothing of it repeated', (asked, message) => {
    expect(() => parseParams(asked, null)).toThrow(message);
    expect(() => parseParams(asked, null)).not.toThrow(/secret/);
  });
});
