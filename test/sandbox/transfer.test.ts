import { describe, expect, test } from 'vitest';
import { balanceOf, bankForEach, cents, plus, recordOf, recordsOf } from './bank-caller.ts';

const { call } = bankForEach();

function pay(from: string, to: string, amount: string, more: { caller?: string; currency?: string } = {}) {
  const body = {
    from: { account_id: from },
    to: { account_id: to },
    value: { currency: more.currency ?? 'EUR', amount },
  };
  return call('postMakeTransaction', { ACCOUNT_ID: from }, { body, caller: more.caller });
}

/** Everything that a transfer could change, as text. */
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

test('moves the money to the last digit, and leaves a transaction on either side', async () => {
  const [alice, bob] = [await balanceOf(call, 'alice-current'), await balanceOf(call, 'bob-savings', 'bob')];
  const body =
    '{"description":"Ευχαριστώ","from":{},"to":{"account_id":"bob-savings"},"value":{"currency":"EUR","amount":10.01}}';
  const answer = await call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body });
  expect(answer.json).toEqual({ id: 'tx-0234', status: 'COMPLETED' });

  const amount = '10.01';
  expect(await balanceOf(call, 'alice-current')).toBe(plus(alice, -cents(amount)));
  expect(await balanceOf(call, 'bob-savings', 'bob')).toBe(plus(bob, cents(amount)));
  const paid = recordOf(
    'getTransaction',
    await call('getTransaction', { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0234' }),
  );
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
  const got = recordOf(
    'getTransaction',
    await call('getTransaction', { ACCOUNT_ID: 'bob-savings', TRANSACTION_ID: 'tx-0234' }, { caller: 'bob' }),
  );
  expect(got).toMatchObject({
    uuid: paid.uuid,
    other_account: 'alice-current',
    details: { value: { amount } },
  });
});

test('makes the other side a counterparty once, with its holders’ names', async () => {
  await pay('bob-savings', 'family-joint', '1', { caller: 'bob' });
  await pay('bob-savings', 'family-joint', '1', { caller: 'bob' });
  const list = await call('getOtherAccounts', { ACCOUNT_ID: 'bob-savings' }, { caller: 'bob' });
  const joint = recordsOf('getOtherAccounts', list).filter(({ id }) => id === 'family-joint');
  expect(joint).toEqual([
    expect.objectContaining({
      holder: { is_alias: false, name: 'Αλίκη Παπαδοπούλου, Carol O’Neill-Müller' },
    }),
  ]);
});

test('reckons where doubles fail', async () => {
  await pay('alice-trust', 'alice-savings', '0.01');
  expect(await balanceOf(call, 'alice-trust')).toBe('9007199254740993.24');
  await pay('alice-savings', 'alice-trust', '0.01');
  expect(await balanceOf(call, 'alice-trust')).toBe('9007199254740993.25');
});

test('takes all that there is, and not the smallest unit more', async () => {
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

test('no sum is lost or made by 200 transfers, many at once, and no account is overdrawn', async () => {
  const accounts = [
    ['alice', 'alice-current'],
    ['alice', 'alice-savings'],
    ['alice', 'alice-trust'],
    ['alice', 'family-joint'],
    ['bob', 'bob-current'],
    ['bob', 'bob-savings'],
  ] as const;
  const balances = () => Promise.all(accounts.map(([caller, account]) => balanceOf(call, account, caller)));
  const sum = (texts: string[]) => texts.reduce((all, text) => all + cents(text), 0n);
  const before = sum(await balances());

  const outcomes: number[] = [];
  for (let round = 0; round < 8; round++) {
    const answers = await Promise.all(
      Array.from({ length: 25 }, async (_, step) => {
        const index = (round * 25 + step * 7) % accounts.length;
        const [caller, from] = accounts[index] ?? accounts[0];
        const [, to] = accounts[(index + 1 + (step % 5)) % accounts.length] ?? accounts[0];
        const amount = `${(step * 977 + round * 131) % 4000}.${String((step * 7919 + 1) % 100).padStart(2, '0')}`;
        return (await pay(from, to, amount, { caller })).status;
      }),
    );
    outcomes.push(...answers);
  }

  const after = await balances();
  expect(sum(after)).toBe(before);
  expect(after.every((balance) => !balance.startsWith('-'))).toBe(true);
  expect(new Set(outcomes)).toEqual(new Set([200, 400]));
});

test('of two payments that are at the bank at once and need the same money, one is made', async () => {
  const all = await balanceOf(call, 'alice-savings');
  const answers = await Promise.all([
    pay('alice-savings', 'bob-current', all),
    pay('alice-savings', 'bob-current', all),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
});
