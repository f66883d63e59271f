import { expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

/** The bank and the view of an operation that names none */

const query = '{ bank { bankId account(accountId: "A") { viewId label } } }';

test('an operation that names no bank and no view uses the defaults', async () => {
  await using fixture = await startBankqlFixture({ defaults: { bankId: 'MINE', viewId: 'seen' } });
  fixture.bank.otherwise(anyAnswer);
  const result = await fixture.ask(query);
  expect(result.data).toEqual({
    bank: { bankId: 'MINE', account: { viewId: 'seen', label: 'A as seen' } },
  });
  expect(fixture.bank.lines()).toEqual(['GET /v1/api/banks/MINE/accounts/A/seen/views']);
});

test('without a default bank, an operation has to name one', async () => {
  await using fixture = await startBankqlFixture({ defaults: { bankId: null, viewId: 'owner' } });
  fixture.bank.otherwise(anyAnswer);
  const refused = await fixture.ask(query);
  expect(refused.data).toEqual({ bank: null });
  expect(failuresOf(refused)).toEqual(['bank BAD_USER_INPUT']);
  const put = await fixture.ask('mutation { putProduct(input: { product: {} }) { trackId } }');
  expect(failuresOf(put)).toEqual(['putProduct BAD_USER_INPUT']);
  expect(fixture.bank.calls).toEqual([]);
  const named = await fixture.ask('{ bank(bankId: "B") { account(accountId: "A") { label } } }');
  expect(named.errors).toBeUndefined();
});
