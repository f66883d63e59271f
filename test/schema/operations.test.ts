import { expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { onlyCall, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { sampleCalls } from '../support/sample-calls.ts';

const { bank, ask } = await shareBankqlFixture();

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// test/bank/wire-format.test.ts tests the calls without credentials.
test.each(Object.values(operations))(
  '$id is one call with the headers of the specification and every digit of its body',
  async ({ id, tracked, auth }) => {
    const { document, line, sent, reply } = sampleCalls[id];
    bank.otherwise({ body: reply });
    const result = await ask(document);
    expect(result.errors).toBeUndefined();
    expect(bank.lines()).toEqual([line]);
    const call = onlyCall(bank);
    const { headers, body } = call;
    expect(headers['ocp-apim-subscription-key']).toBe('the-subscription-key');
    expect(headers['auth-provider-name']).toBe(auth === 'none' ? undefined : 'the-provider');
    expect(headers['auth-id']).toBe(auth === 'none' ? undefined : 'the-caller');
    expect(headers['track-id']).toEqual(tracked ? expect.stringMatching(version4) : undefined);
    expect(headers['content-type']).toBe(body === '' ? undefined : 'application/json');
    if (sent === '') expect(body).toBe('');
    else expect(sentJson(call)).toEqual(sentJson({ ...call, body: sent }));
  },
);

test.each([
  ['views', '{ bank { account(accountId: "A", viewId: "V") { views { label } } } }'],
  ['permissions', '{ bank { accounts(accountId: "A", viewId: "V") { nodes { label } } } }'],
])('getAccountsScope is reached with the scope %s for each account and view', async (scope, document) => {
  bank.otherwise({ body: { accounts: [{ balance: {}, id: 'A', label: scope }] } });
  const result = await ask(document);
  expect(JSON.stringify(result)).toContain(`"label":"${scope}"`);
  expect(result.errors).toBeUndefined();
  expect(bank.lines()).toEqual([`GET /v1/api/banks/BANK/accounts/A/V/${scope}`]);
});
