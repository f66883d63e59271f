import { expect, test } from 'vitest';
import { capacityLimits } from '../support/capacity-limits.ts';
import { postOf } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** The counterparties of an account, of whom no two accounts have the same: about 200 kB. */
const otherAccountsOf = (account: string) =>
  Array.from({ length: 1000 }, (_, n) => ({
    id: `${account} ${n}`,
    bank: 'B'.repeat(100),
    holder: { name: 'Holder', is_alias: false },
  }));

async function ask(url: string, query: string) {
  const response = await fetch(url, postOf({ query }));
  return { status: response.status, answer: await response.json() };
}

test('the lists that operations read are bounded together, whatever few fields they select; they are given back at the end', async () => {
  await using fixture = await startServerFixture({ capacity: capacityLimits({ values: 20_000 }) });
  const { bank, server, url } = fixture;
  bank.otherwise(({ path }) => {
    const account = /accounts\/([^/]+)\//.exec(path)?.[1] ?? '';
    return { body: { otherAccounts: otherAccountsOf(account) } };
  });
  const count = async (...accounts: string[]) => {
    const fields = accounts.map(
      (account) => `${account}: account(accountId: "${account}") { otherAccounts(first: 0) { totalCount } }`,
    );
    return ask(url, `{ bank { ${fields.join(' ')} } }`);
  };

  const few = await count('a', 'b');
  expect(few).toEqual({
    status: 200,
    answer: {
      data: {
        bank: { a: { otherAccounts: { totalCount: 1000 } }, b: { otherAccounts: { totalCount: 1000 } } },
      },
    },
  });
  expect(server.held.values).toBe(0);

  const many = await count('c', 'd', 'e', 'f', 'g');
  expect(many.status).toBe(503);
  expect(many.answer.errors).toEqual([
    {
      message: expect.stringContaining('Too many large answers are being built, and this one is large.'),
      extensions: expect.objectContaining({ code: 'OVERLOADED' }),
    },
  ]);
  expect(server.held.values).toBe(0);
  expect((await count('h')).status).toBe(200);
  expect(bank.calls.length).toBeGreaterThanOrEqual(6);
});

test('the payment records that operations read are bounded together; they are given back at the end', async () => {
  await using fixture = await startServerFixture({ capacity: capacityLimits({ values: 20_000 }) });
  const { bank, server, url } = fixture;
  bank.otherwise({ body: { id: 'TX' } });
  for (let n = 0; n < 60; n++) {
    const { answer } = await ask(
      url,
      `mutation { makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: 1, currency: "EUR" }, idempotencyKey: "kept-payments-${n}" }) { payment { trackId } } }`,
    );
    expect(answer.errors).toBeUndefined();
  }
  const list = (lists: number) =>
    ask(
      url,
      `{ ${Array.from({ length: lists }, (_, n) => `p${n}: payments(first: ${100 - n}) { pageInfo { hasNextPage } }`).join(' ')} }`,
    );

  const one = await list(1);
  expect(one).toEqual({ status: 200, answer: { data: { p0: { pageInfo: { hasNextPage: false } } } } });
  const many = await list(20);
  expect([many.status, many.answer.errors?.[0].extensions.code]).toEqual([503, 'OVERLOADED']);
  expect(server.held.values).toBe(0);
  expect((await list(1)).status).toBe(200);
});
