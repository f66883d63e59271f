import { describe, expect, test } from 'vitest';
import { bankText, redact } from '../src/bank/errors.ts';
import { operations } from '../src/contract/operations.ts';
import { parseWithin } from '../src/engine/limits.ts';
import { classifyPaymentResponse } from '../src/payments/classify-response.ts';
import { defaultRejectedStatuses, noBankWords, readOutcome } from '../src/payments/outcome-words.ts';
import { foldText } from '../src/schema/text-search.ts';
import { transactionIdsOf } from '../src/schema/transaction-request.ts';
import { checkRequest } from '../src/server/request.ts';
import { startBankqlFixture } from './support/bankql-fixture.ts';

/** Texts whose length somebody else decides take a time that grows no faster than they do. */

const classify = (status: number, body: string, operation = operations.putTransactionsRequestAccount) =>
  classifyPaymentResponse(
    { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(body) },
    {
      operation,
      rejectedStatuses: defaultRejectedStatuses,
      bankWords: noBankWords,
      sent: { description: null, toBankId: 'B', toAccountId: 'a', currency: 'EUR', amount: '1' },
      secrets: [],
    },
  ).state;

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('an answer to a payment', () => {
  test.each(['failed', 'success', 'pending'])('with lists inside of `%s` is read list by list', (name) => {
    const vocabulary = {
      operation: operations.putTransactionsRequestAccount,
      bankWords: noBankWords,
      sent: { description: null },
    };
    expect(readOutcome({ status: 'done', [name]: JSON.parse(nested(100_000)) }, vocabulary)).toBe('done');
    expect(classify(200, `{"status":"done","${name}":["a","b"]}`)).toBe('DONE');
  });

  test('is UNKNOWN if it is deeper than any record', () => {
    const answer = (value: string) =>
      `{"transaction-requests":[{"status":"INITIATED","body":{"to":{"bank_id":${value}}}}]}`;
    expect(classify(200, answer('"B"'))).toBe('DONE');
    expect(classify(200, answer(nested(60_000)))).toBe('UNKNOWN');
  });

  test('may have a word in a list of one', () => {
    expect(classify(200, '{"failed":["yes"]}')).toBe('UNKNOWN');
    expect(classify(400, '{"code":400,"message":"declined","failed":[true]}')).toBe('REJECTED');
    expect(classify(400, '{"code":400,"message":"declined","success":[true]}')).toBe('UNKNOWN');
  });

  test('is UNKNOWN if it is a long refusal, which is not searched for words', () => {
    const refusal = (length: number) => JSON.stringify({ code: 400, message: 'x'.repeat(length) });
    expect(classify(400, refusal(60_000))).toBe('REJECTED');
    expect(classify(400, refusal(66_000))).toBe('UNKNOWN');
    expect(classify(200, refusal(66_000))).toBe('UNKNOWN');
  });
});

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

test.each([
  ['Host', '/graphql', '%E4%B8%80'.repeat(200)],
  ['target', `//${'%E4%B8%80'.repeat(200)}/`, 'localhost'],
])('a long host in the %s is refused before it is encoded', (_, url, host) => {
  const { refusal } = checkRequest({ method: 'GET', url, headers: { host } } as never, {
    corsOrigins: new Set(),
    onlyLocalNames: false,
    maxRequestBytes: 1,
  });
  expect(refusal?.status).toBe(400);
});

test('the beginning of a text is searched', () => {
  expect(foldText('Ä'.repeat(10_000))).toBe('a'.repeat(500));
});

test('tags are split at their commas, whatever white space is around these', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: { id: 'T', metadata: { tags: ' a ,  b c ,, \n' } } });
  const result = await fixture.ask(
    '{ bank { account(accountId: "a") { transaction(transactionId: "T") { metadata { tagList } } } } }',
  );
  expect(JSON.stringify(result.data)).toContain('"tagList":["a","b c"]');
});
