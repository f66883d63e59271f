import { expect, test } from 'vitest';
import { balanceOf, bankForEach, plus, recordOf, recordsOf } from './bank-caller.ts';

const { call } = bankForEach();

const ask = (body: unknown) =>
  call('putTransactionsRequestAccount', { ACCOUNT_ID: 'alice-current', TYPE: 'SANDBOX_TAN' }, { body });

test('up to 1,000 is moved at once, and the request names its transaction', async () => {
  const before = await balanceOf(call, 'bob-current', 'bob');
  const value = { currency: 'EUR', amount: '1000.00' };
  const answer = await ask({ to: { account_id: 'bob-current' }, value, description: '家賃' });
  const request = recordOf('putTransactionsRequestAccount', answer);
  expect(request).toEqual({
    description: '家賃',
    status: 'COMPLETED',
    resource_url: '/v1/api/banks/SNDBCY2N/accounts/alice-current/owner/transaction-requests#request-0020',
    transaction_ids: 'tx-0234',
    start_date: expect.any(String),
    end_date: expect.any(String),
    from: { account_id: 'alice-current', bank_id: 'SNDBCY2N' },
    body: { to: { account_id: 'bob-current', bank_id: 'SNDBCY2N' }, value },
  });
  expect(await balanceOf(call, 'bob-current', 'bob')).toBe(plus(before, 100_000n));
  const transaction = await call('getTransaction', {
    ACCOUNT_ID: 'alice-current',
    TRANSACTION_ID: 'tx-0234',
  });
  expect(recordOf('getTransaction', transaction)).toMatchObject({
    details: { type: 'SANDBOX_TAN', description: '家賃', value: { amount: '-1000.00' } },
  });
  const list = await call('getTransactionsRequest', { ACCOUNT_ID: 'alice-current' });
  expect(recordsOf('getTransactionsRequest', list).at(-1)).toEqual(request);
});

test('above 1,000, or without a value, it waits for its challenge and moves nothing', async () => {
  const before = await balanceOf(call, 'alice-current');
  const value = { currency: 'EUR', amount: '1000.01' };
  const large = await ask({ to: { account_id: 'bob-current' }, value, challenge_type: 'SMS' });
  expect(recordOf('putTransactionsRequestAccount', large)).toMatchObject({
    status: 'INITIATED',
    challenge: 'SMS',
  });
  const open = recordOf('putTransactionsRequestAccount', await ask({ to: { account_id: 'bob-current' } }));
  expect(open).toMatchObject({ status: 'INITIATED', challenge: 'SANDBOX_TAN' });
  expect(open).not.toHaveProperty('transaction_ids');
  expect(await balanceOf(call, 'alice-current')).toBe(before);
});

test.each([
  ['a payee that the bank does not know', 404, { to: { account_id: 'nothing' } }],
  ['a payee that is not named', 400, { to: {} }],
  [
    'a value that is not positive',
    400,
    { to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '0' } },
  ],
  ['a value without a currency', 400, { to: { account_id: 'bob-current' }, value: { amount: '1' } }],
  [
    'a value finer than a cent',
    400,
    { to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '1.005' } },
  ],
  ['another currency', 400, { to: { account_id: 'bob-current' }, value: { currency: 'USD', amount: '1' } }],
])('%s: refused, and no request is kept', async (_, status, body) => {
  const ids = { ACCOUNT_ID: 'alice-current' };
  const before = (await call('getTransactionsRequest', ids)).text;
  expect((await ask(body)).status).toBe(status);
  expect((await call('getTransactionsRequest', ids)).text).toBe(before);
});

test('what the funds do not cover leaves no request, and no number is lost by it', async () => {
  const poor = { owners: ['alice'], balance: { amount: '5' } };
  await call('putAccountID', { ACCOUNT_ID: 'alice-poor' }, { body: poor, caller: 'staff' });
  const body = { to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '5.01' } };
  const ids = { ACCOUNT_ID: 'alice-poor', TYPE: 'SANDBOX_TAN' };
  const answer = await call('putTransactionsRequestAccount', ids, { body });
  expect(answer.json).toEqual({ code: 400, message: 'Insufficient funds' });
  expect((await call('getTransactionsRequest', ids)).json).toEqual({ 'transaction-requests': [] });
  const next = await ask({ to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '1' } });
  expect(recordOf('putTransactionsRequestAccount', next)).toMatchObject({ transaction_ids: 'tx-0234' });
});
