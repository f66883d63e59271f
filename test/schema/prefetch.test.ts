import { describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

const account = 'GET /v1/api/banks/BANK/accounts/A/owner/views';
const of = (selection: string) => `{ bank { account(accountId: "A") { ${selection} } } }`;

async function linesOf(document: string, variables: Record<string, unknown> = {}) {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const result = await fixture.ask(document, variables);
  expect(result.errors).toBeUndefined();
  return { lines: fixture.bank.lines(), data: JSON.stringify(result.data) };
}

describe('an account of which only ids are selected costs nothing', () => {
  test.each([
    ['plainly', of('id bankId accountId viewId')],
    ['by its type name', of('__typename')],
    ['through aliases', of('a: accountId b: accountId global: id')],
    ['through its bank', of('bank { id bankId b: bankId }')],
    ['through an inline fragment', of('... { accountId }')],
    ['through an inline fragment on its type', of('... on Account { accountId ... on Account { viewId } }')],
    ['through a fragment on Node', of('... on Node { id }')],
    [
      'through a named fragment',
      `${of('...F')} fragment F on Account { accountId ...G } fragment G on Node { id }`,
    ],
    ['beside a field that is skipped', of('accountId label @skip(if: true)')],
    ['beside a field that is not included', of('accountId label @include(if: false)')],
    [
      'beside a field that one of two directives leaves out',
      of('accountId label @include(if: true) @skip(if: true)'),
    ],
    ['beside an inline fragment that is skipped', of('accountId ... @skip(if: true) { label }')],
    [
      'beside a named fragment that is skipped',
      `${of('accountId ...F @include(if: false)')} fragment F on Account { label }`,
    ],
    [
      'inside a skipped fragment there may be anything',
      of('accountId ... on Account @skip(if: true) { owners { legalName } label }'),
    ],
  ])('%s', async (_, document) => {
    expect((await linesOf(document)).lines).toEqual([]);
  });
});

describe('an account of which its record is selected costs one call', () => {
  test.each([
    ['plainly', of('label')],
    ['through an alias that is named like an id', of('accountId: label')],
    ['through several fields and aliases', of('label l: label iban balance { amount }')],
    ['through a fragment on Node', of('... on Node { ... on Account { label } }')],
    [
      'through a named fragment',
      `${of('...F')} fragment F on Account { accountId ...G } fragment G on Account { label }`,
    ],
    [
      'through one field in two places',
      '{ bank { account(accountId: "A") { accountId } account(accountId: "A") { label } } }',
    ],
    [
      'through one fragment, skipped the first time',
      `${of('...F @skip(if: true) ...F')} fragment F on Account { label }`,
    ],
    ['where a directive keeps it', of('label @skip(if: false) @include(if: true)')],
    ['where one of two selections is kept', of('label @skip(if: true) label')],
    ['in an inline fragment that is kept', of('... @include(if: true) { label }')],
  ])('%s', async (_, document) => {
    const { lines, data } = await linesOf(document);
    expect(lines).toEqual([account]);
    expect(data).toContain('A as owner');
  });
});

describe('@skip and @include with variables', () => {
  const document = (declared: string, selection: string) =>
    `query Q(${declared}) { bank { account(accountId: "A") { accountId ${selection} } } } fragment F on Account { label }`;
  const places = [
    ['on a field', (directive: string) => `label ${directive} ... @skip(if: true) { ...F }`],
    ['on an inline fragment', (directive: string) => `... ${directive} { ...F }`],
    ['on an inline fragment with a type', (directive: string) => `... on Account ${directive} { ...F }`],
    ['on a named fragment', (directive: string) => `...F ${directive}`],
  ] as const;
  const values = [
    ['@include(if: $on)', '$on: Boolean!', { on: true }, 1],
    ['@include(if: $on)', '$on: Boolean!', { on: false }, 0],
    ['@skip(if: $on)', '$on: Boolean!', { on: true }, 0],
    ['@skip(if: $on)', '$on: Boolean!', { on: false }, 1],
    ['@include(if: $on)', '$on: Boolean = true', {}, 1],
    ['@include(if: $on)', '$on: Boolean = false', {}, 0],
    ['@skip(if: $on)', '$on: Boolean! = true', {}, 0],
    ['@skip(if: $on)', '$on: Boolean! = false', {}, 1],
    ['@include(if: $on)', '$on: Boolean! = false', { on: true }, 1],
    ['@skip(if: $on)', '$on: Boolean = false', { on: true }, 0],
    ['@include(if: $on) @skip(if: $off)', '$on: Boolean!, $off: Boolean!', { on: true, off: false }, 1],
    ['@include(if: $on) @skip(if: $off)', '$on: Boolean!, $off: Boolean!', { on: true, off: true }, 0],
  ] as const;
  const cases = places.flatMap(([where, at]) =>
    values.map(
      ([directive, declared, variables, calls]) =>
        [where, directive, declared, variables, calls, at] as const,
    ),
  );

  test.each(cases)('%s: %s, %s, %j: %i call(s)', async (_, directive, declared, variables, calls, at) => {
    const { lines, data } = await linesOf(document(declared, at(directive)), variables);
    expect(lines).toHaveLength(calls);
    expect(data.includes('A as owner')).toBe(calls === 1);
  });
});

describe('an argument with variables', () => {
  test('is what it would be without looking ahead', async () => {
    const { lines } = await linesOf(
      `query Q($id: ID!, $tx: ID = "T9", $filter: OtherAccountFilter, $n: Int) {
        bank {
          account(accountId: $id) {
            label
            transaction(transactionId: $tx) { uuid }
            otherAccounts(filter: $filter, first: $n) { totalCount }
            other: otherAccounts { totalCount }
          }
        }
      }`,
      { id: 'A', filter: { iban: 'I' }, n: 1 },
    );
    expect(lines.sort()).toEqual([
      'GET /v1/api/banks/BANK/accounts/A/owner/other_accounts',
      'GET /v1/api/banks/BANK/accounts/A/owner/transactions/T9/transaction',
      account,
      'POST /v1/api/banks/BANK/accounts/A/owner/other_accounts',
    ]);
  });
});
