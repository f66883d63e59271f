import { describe, expect, test } from 'vitest';
import { bankText, redact } from '../src/bank/errors.ts';
import { parseWithin } from '../src/graphql/document-size.ts';
import { transactionIdsOf } from '../src/schema/request-search.ts';
import { startBankqlFixture } from './support/bankql-fixture.ts';

/** The time for a text whose length others choose grows at most linearly with this length. */

describe('an error of the bank', () => {
  const response = (length: number) => ({
    status: 400,
    headers: {},
    body: Buffer.from(JSON.stringify({ message: 'm', more: 'x'.repeat(length) })),
    milliseconds: 1,
  });

  test('shows no text if it is long', () => {
    expect(bankText(response(65_000), [])).toBe('m');
    expect(bankText(response(66_000), [])).toBe('');
  });

  test('shows a secret only within a known text', () => {
    expect(redact('xaaaay aaaa', ['aaaa'], 100, ['xaaaay'])).toBe('xaaaay [redacted]');
    expect(redact('aaaab', ['aaaa'], 100, ['caaaa', 'aaaabb', 'aaa'])).toBe('[redacted]b');
    expect(redact('caaaa', ['aaaa'], 100, ['caaaa'])).toBe('caaaa');
  });
});

test('a document may have twice as many lines as tokens', () => {
  const limits = { tokens: 10, depth: 5, fields: 5, rootFields: 5, aliases: 5, directives: 5 };
  for (const end of ['\n', '\r\n', '\r']) {
    expect(parseWithin(`{${end.repeat(19)}a}`, limits).definitions).toHaveLength(1);
    expect(() => parseWithin(`{${end.repeat(20)}a}`, limits)).toThrow('more than 20 lines');
  }
});

test('a text may have as many ids of transactions as a list', () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => `t${index}`);
  expect(transactionIdsOf({ transaction_ids: ids.join() })).toHaveLength(10_000);
  expect(() => transactionIdsOf({ transaction_ids: [...ids, 'x'].join() })).toThrow('more than 10000 ids');
});

test('tags are split at their commas, whatever white space is around these', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: { id: 'T', metadata: { tags: ' a ,  b c ,, \n' } } });
  const result = await fixture.ask(
    '{ bank { account(accountId: "a") { transaction(transactionId: "T") { metadata { tags } } } } }',
  );
  expect(JSON.stringify(result.data)).toContain('"tags":["a","b c"]');
});
