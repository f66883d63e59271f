import { describe, expect, test } from 'vitest';
import { balanceOf, bankForEach, cents, plus, recordIn } from './bank-caller.ts';

const { call, recordsOf, recordOf } = bankForEach();

function pay(from: string, to: string, amount: string, more: { caller?: string; currency?: string } = {}) {
  const body = {
    from: { account_id: from },
    to: { account_id: to },
    value: { currency: more.currency ?? 'EUR', amount },
  };
  return call('postMakeTransaction', { ACCOUNT_ID: from }, { body, caller: more.caller });
}

/** Everything that a transfer could change, as a text. */
async function state(): Promise<string> {
  const texts: string[] = [];
  for (const [caller, account] of [
    ['alice', 'alice-current'],
    ['bob', 'bob-current'],
  ] as const) {
    const ids = { ACCOUNT_ID: account, scope: 'permissions' };
    texts.push((await call('getAccountsScope', ids, { caller })).text);
    texts.push((await call('getOtherAccounts', ids, { caller })).text);
    texts.push((await call('getTransactionsRequest', ids, { caller })).text);
  }
  return texts.join('\n');
}

test('a transfer moves the money to the last digit, and leaves a transaction on either side', async () => {
  const [alice, bob] = [await balanceOf(call, 'alice-current'), await balanceOf(call, 'bob-savings', 'bob')];
  const body =
    '{"description":"Ευχαριστώ","from":{},"to":{"account_id":"bob-savings"},"value":{"currency":"EUR","amount":10.01}}';
  const answer = await call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body });
  expect(answer.json).toEqual({ id: 'tx-0234', status: 'COMPLETED' });

  const amount = '10.01';
  expect(await balanceOf(call, 'alice-current')).toBe(plus(alice, -cents(amount)));
  expect(await balanceOf(call, 'bob-savings', 'bob')).toBe(plus(bob, cents(amount)));
  const paid = await recordOf('getTransaction', { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0234' });
  expect(paid).toMatchObject({
    this_account: 'alice-current',
    other_account: 'bob-savings',
    details: {
      description: 'Ευχαριστώ',
      status: 'COMPLETED',
      value: { currency: 'EUR', amount: `-${amount}` },
      new_balance: { amount: plus(alice, -cents(amount)) },
    },
  });
  const got = await recordOf(
    'getTransaction',
    { ACCOUNT_ID: 'bob-savings', TRANSACTION_ID: 'tx-0234' },
    { caller: 'bob' },
  );
  expect(got).toMatchObject({
    uuid: paid.uuid,
    other_account: 'alice-current',
    details: { value: { amount } },
  });
});

test('a transfer makes the other side a counterparty once, with its holders’ names', async () => {
  await pay('bob-savings', 'family-joint', '1', { caller: 'bob' });
  await pay('bob-savings', 'family-joint', '1', { caller: 'bob' });
  const joint = (
    await recordsOf('getOtherAccounts', { ACCOUNT_ID: 'bob-savings' }, { caller: 'bob' })
  ).filter(({ id }) => id === 'family-joint');
  expect(joint).toEqual([
    expect.objectContaining({
      holder: { is_alias: false, name: 'Αλίκη Παπαδοπούλου, Carol O’Neill-Müller' },
    }),
  ]);
});

test('amounts that a double cannot hold are added exactly', async () => {
  await pay('alice-trust', 'alice-savings', '0.01');
  expect(await balanceOf(call, 'alice-trust')).toBe('9007199254740993.24');
  await pay('alice-savings', 'alice-trust', '0.01');
  expect(await balanceOf(call, 'alice-trust')).toBe('9007199254740993.25');
});

test('a transfer may take all that there is, and not the smallest unit more', async () => {
  const all = await balanceOf(call, 'alice-savings');
  expect((await pay('alice-savings', 'alice-current', plus(all, 1n))).json).toEqual({
    code: 400,
    message: 'Insufficient funds',
  });
  expect((await pay('alice-savings', 'alice-current', all)).status).toBe(200);
  expect(await balanceOf(call, 'alice-savings')).toBe('0.00');
});

describe('a transfer that is refused changes nothing', () => {
  const to = { account_id: 'bob-current' };
  const value = { currency: 'EUR', amount: '1' };
  test.each([
    ['zero', 400, { from: {}, to, value: { currency: 'EUR', amount: '0.00' } }],
    ['negative', 400, { from: {}, to, value: { currency: 'EUR', amount: '-1' } }],
    ['no value', 400, { from: {}, to }],
    ['no amount', 400, { from: {}, to, value: { currency: 'EUR' } }],
    ['more than there is', 400, { from: {}, to, value: { currency: 'EUR', amount: '4305.81' } }],
    ['a huge exponent', 400, { from: {}, to, value: { currency: 'EUR', amount: '1e999999999' } }],
    ['a tiny exponent', 400, { from: {}, to, value: { currency: 'EUR', amount: '1e-999999999' } }],
    ['another currency', 400, { from: {}, to, value: { currency: 'USD', amount: '1' } }],
    ['an account in another currency', 400, { from: {}, to: { account_id: 'bob-dollars' }, value }],
    ['no currency', 400, { from: {}, to, value: { amount: '1' } }],
    ['half a cent', 400, { from: {}, to, value: { currency: 'EUR', amount: '1.005' } }],
    ['half a yen', 400, { from: {}, to, value: { currency: 'JPY', amount: '1.5' } }],
    ['another account named as from', 400, { from: { account_id: 'alice-savings' }, to, value }],
    ['another bank named as from', 400, { from: { bank_id: 'OTHERBNK' }, to, value }],
    ['to itself', 400, { from: {}, to: { account_id: 'alice-current' }, value }],
    ['to nowhere', 400, { from: {}, to: {}, value }],
    ['to an unknown account', 404, { from: {}, to: { account_id: 'nothing' }, value }],
    ['to another bank', 404, { from: {}, to: { ...to, bank_id: 'OTHERBNK' }, value }],
    ['a quoted amount', 400, '{"from":{},"to":{"account_id":"bob-current"},"value":{"amount":"1.00"}}'],
    [
      'an amount that is no JSON number',
      400,
      '{"from":{},"to":{"account_id":"bob-current"},"value":{"amount":01}}',
    ],
  ])('%s: %i', async (_, status, body) => {
    const before = await state();
    const answer = await call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body });
    expect(answer.json).toEqual({ code: status, message: expect.any(String) });
    expect(await state()).toBe(before);
  });
});

test('of two payments that are at the bank at once and need the same money, one is made', async () => {
  const all = await balanceOf(call, 'alice-savings');
  const answers = await Promise.all([
    pay('alice-savings', 'bob-current', all),
    pay('alice-savings', 'bob-current', all),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
});

describe('a transaction request', () => {
  const { call, recordsOf, recordOf } = bankForEach();

  const ask = (body: unknown) =>
    call('putTransactionsRequestAccount', { ACCOUNT_ID: 'alice-current', TYPE: 'SANDBOX_TAN' }, { body });

  test('up to 1,000 is moved at once, and the request names its transaction', async () => {
    const before = await balanceOf(call, 'bob-current', 'bob');
    const value = { currency: 'EUR', amount: '1000.00' };
    const answer = await ask({ to: { account_id: 'bob-current' }, value, description: '家賃' });
    const request = recordIn('putTransactionsRequestAccount', answer);
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
    expect(
      await recordOf('getTransaction', {
        ACCOUNT_ID: 'alice-current',
        TRANSACTION_ID: 'tx-0234',
      }),
    ).toMatchObject({
      details: { type: 'SANDBOX_TAN', description: '家賃', value: { amount: '-1000.00' } },
    });
    expect((await recordsOf('getTransactionsRequest', { ACCOUNT_ID: 'alice-current' })).at(-1)).toEqual(
      request,
    );
  });

  test('above 1,000, or without a value, it waits for its challenge and moves nothing', async () => {
    const before = await balanceOf(call, 'alice-current');
    const value = { currency: 'EUR', amount: '1000.01' };
    const large = await ask({ to: { account_id: 'bob-current' }, value, challenge_type: 'SMS' });
    expect(recordIn('putTransactionsRequestAccount', large)).toMatchObject({
      status: 'INITIATED',
      challenge: 'SMS',
    });
    const open = recordIn('putTransactionsRequestAccount', await ask({ to: { account_id: 'bob-current' } }));
    expect(open).toMatchObject({ status: 'INITIATED', challenge: 'SANDBOX_TAN' });
    expect(open).not.toHaveProperty('transaction_ids');
    expect(await balanceOf(call, 'alice-current')).toBe(before);
  });

  test.each([
    ['a payee that the bank does not know', 404, { to: { account_id: 'nothing' } }],
    ['a payee that is not named', 400, { to: {} }],
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
    expect(recordIn('putTransactionsRequestAccount', next)).toMatchObject({ transaction_ids: 'tx-0234' });
  });
});
