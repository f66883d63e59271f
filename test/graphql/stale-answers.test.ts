import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestBankql, type TestBankql } from '../support/bankql.ts';
import { byLine, type FaultyBank, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { letPass } from '../support/let-pass.ts';
import { postOf } from '../support/requests.ts';

/** While the bank is unavailable, public data may be answered from the cache. test/bank/shared-reads.test.ts tests when. */

let bank: FaultyBank;
let bankql: TestBankql;
beforeEach(async () => {
  bank = await startFaultyBank();
  bankql = await createTestBankql({ bankUrl: bank.url, bankOptions: { publicCacheTtlMs: 1 } });
});
afterEach(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
});

const branches = reply(200, '{"branches":[{"acceptsDeposits":true,"id":"b"}]}');
const customer = reply(200, '{"email":"a@b"}');
const noticed = z.object({
  data: z.unknown(),
  errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).optional(),
  extensions: z
    .object({ stale: z.array(z.object({ operation: z.string(), ageSeconds: z.number() })) })
    .optional(),
});
const ask = async (query: string) => {
  const response = await bankql.fetch(new Request('http://bankql.test/graphql', postOf({ query })));
  return noticed.parse(await response.json());
};
const query = '{ bank { branches { totalCount } } }';

test('public data comes from the cache, and data of the caller fails', async () => {
  bank.behave(byLine(bank, { branches, customers: customer }));
  const both = '{ bank { customer(customerId: "c") { email } branches { totalCount } } }';
  await ask(both);
  letPass(5);
  bank.behave(reply(503, '{}'));
  const result = await ask(both);
  expect(result.data).toEqual({ bank: { customer: null, branches: { totalCount: 1 } } });
  expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['BANK_UNAVAILABLE']);
  expect(result.extensions?.stale).toHaveLength(1);
});

test('a mutation gets no data from the cache', async () => {
  bank.behave(byLine(bank, { branches, customers: reply(200, '{"bank_id":["BANK"]}') }));
  await ask(query);
  letPass(5);
  bank.behave(byLine(bank, { branches: reply(503, '{}'), customers: reply(200, '{"bank_id":["BANK"]}') }));
  const result = await ask(
    'mutation { putCustomer(input: { customerId: "c", customer: {} }) { customer { banks { branches { totalCount } } } } }',
  );
  expect(result.data).toEqual({ putCustomer: { customer: { banks: [{ branches: null }] } } });
  expect(result.extensions).toBeUndefined();
});
