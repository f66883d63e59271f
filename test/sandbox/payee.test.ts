import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { closedAccount, iban, slowAccount } from '../../src/sandbox/iban.ts';
import { balanceOf, bankForEach, cents, payTo, plus, recordIn } from './bank-caller.ts';

const { call, recordsOf, recordOf } = bankForEach();

const from = { ACCOUNT_ID: 'alice-current' };
const value = { currency: 'EUR', amount: '12.34' };

const pay = (to: object, more = {}) =>
  call('postMakeTransaction', from, { body: { from: {}, to, value, description: 'Ενοίκιο', ...more } });
const ask = (to: object, more = {}) =>
  call('putTransactionsRequestAccount', { ...from, TYPE: 'SEPA' }, { body: { to, value, ...more } });
const payees = async () => await recordsOf('getOtherAccounts', from);
const transaction = async (id: unknown) =>
  await recordOf('getTransaction', { ...from, TRANSACTION_ID: String(id) });

test.each([
  ['CY', '002001280000001200527600', 'CY17002001280000001200527600'],
  ['DE', '370400440532013000', 'DE89370400440532013000'],
  ['GB', 'NWBK60161331926819', 'GB29NWBK60161331926819'],
])('the registry’s example of %s', (country, number, expected) => {
  expect(iban(country, number)).toBe(expected);
});

describe('a counterparty at another bank is paid', () => {
  test.each([
    ['by its id', { account_id: 'payee-landlord' }, 'payee-landlord'],
    ['with this bank for its bank', { account_id: 'payee-rail', bank_id: 'SNDBCY2N' }, 'payee-rail'],
    ['with its own bank’s name', { account_id: 'payee-rail', bank_id: 'Testbank Berlin' }, 'payee-rail'],
    ['with its own bank’s BIC', { account_id: 'payee-rail', bank_id: 'TSTBDEBB' }, 'payee-rail'],
    ['by its IBAN', { account_id: 'GR1601101250000000012300695' }, 'payee-employer'],
    ['by its number', { account_id: '0012345' }, 'payee-books'],
  ])('%s', async (_, to, id) => {
    const before = await balanceOf(call, 'alice-current');
    const known = await payees();
    const answer = await pay(to);
    expect(answer.json).toEqual({ id: expect.stringMatching(/^tx-/), status: 'COMPLETED' });
    // The money has left, to the last digit, and no account of this bank has received it.
    const after = plus(before, -1234n);
    expect(await balanceOf(call, 'alice-current')).toBe(after);
    expect(await transaction(Object(answer.json).id)).toMatchObject({
      other_account: id,
      details: {
        status: 'COMPLETED',
        description: 'Ενοίκιο',
        value: { currency: 'EUR', amount: '-12.34' },
        new_balance: { currency: 'EUR', amount: after },
        completed: expect.any(String),
      },
    });
    expect(await payees()).toEqual(known);
  });

  test('by a request, which names its transaction and the other bank', async () => {
    const answer = recordIn('putTransactionsRequestAccount', await ask({ account_id: 'payee-rail' }));
    expect(answer).toMatchObject({
      status: 'COMPLETED',
      body: { to: { account_id: 'payee-rail', bank_id: 'TSTBDEBB' }, value },
    });
    expect(await transaction(answer.transaction_ids)).toMatchObject({ other_account: 'payee-rail' });
  });

  test('by any IBAN: who has it is a counterparty from then on', async () => {
    const account_id = 'DE89370400440532013000';
    const known = await payees();
    expect((await pay({ account_id, bank_id: 'COBADEFF' })).status).toBe(200);
    expect((await pay({ account_id })).status).toBe(200);
    const added = { id: account_id, IBAN: account_id, bank: 'COBADEFF', kind: 'account of another bank' };
    expect(await payees()).toEqual([...known, added]);
  });
});

test.each(['id', 'IBAN', 'number'] as const)(
  'money for an account of this bank stays within it, named by its %s',
  async (field) => {
    const ids = { ACCOUNT_ID: 'bob-current', scope: 'views' };
    const account = await recordOf('getAccountsScope', ids, { caller: 'bob' });
    expect((await pay({ account_id: account[field] })).status).toBe(200);
    const after = plus(String(Object(account.balance).amount), 1234n);
    expect(await balanceOf(call, 'bob-current', 'bob')).toBe(after);
    expect((await pay({ account_id: account[field], bank_id: 'COBADEFF' })).status).toBe(404);
    expect(await balanceOf(call, 'bob-current', 'bob')).toBe(after);
  },
);

test.each([
  ['whom nobody knows', { account_id: 'payee-bakery' }],
  ['at another bank than its own', { account_id: 'payee-rail', bank_id: 'TSTAGRAA' }],
  ['whose IBAN is mistyped', { account_id: 'DE88370400440532013000', bank_id: 'COBADEFF' }],
  ['whose IBAN this bank does not have', { account_id: 'DE89370400440532013000', bank_id: 'SNDBCY2N' }],
])('a payee %s is not found, and no money moves', async (_, to) => {
  const before = await balanceOf(call, 'alice-current');
  expect((await pay(to)).status).toBe(404);
  expect(await balanceOf(call, 'alice-current')).toBe(before);
});

test.each([
  ['FAILED', closedAccount],
  ['PENDING', slowAccount],
])('a transfer ends %s where the other bank says so, and moves no money', async (status, account_id) => {
  const before = await balanceOf(call, 'alice-current');
  const answer = await pay({ account_id });
  expect(answer.json).toMatchObject({ status });
  const { details } = await transaction(Object(answer.json).id);
  expect(details).toMatchObject({ status, new_balance: { amount: before } });
  expect(details).not.toHaveProperty('completed');
  const request = recordIn('putTransactionsRequestAccount', await ask({ account_id }));
  expect(request).toMatchObject({ status, transaction_ids: expect.stringMatching(/^tx-/) });
  expect('end_date' in request).toBe(status === 'FAILED');
  expect(await balanceOf(call, 'alice-current')).toBe(before);
});

describe('every transaction can be reached by the requests of its account', () => {
  const reached = async (account: string, caller: string) => {
    const ids = { ACCOUNT_ID: account };
    const requests = await recordsOf('getTransactionsRequest', ids, { caller });
    return requests.flatMap(({ transaction_ids }) => String(transaction_ids ?? '').split(','));
  };

  test('what is transferred, and what comes in, stands in the statement of the month', async () => {
    const { id } = Object((await pay({ account_id: 'yuki-current' })).json);
    expect((await reached('alice-current', 'alice')).filter((each) => each === id)).toEqual([id]);
    expect(await reached('yuki-current', 'yuki')).toEqual([id]);
  });

  test('what was asked for stands in its request alone', async () => {
    const request = recordIn('putTransactionsRequestAccount', await ask({ account_id: 'bob-savings' }));
    const id = request.transaction_ids;
    expect((await reached('alice-current', 'alice')).filter((each) => each === id)).toEqual([id]);
    expect((await reached('bob-savings', 'bob')).filter((each) => each === id)).toEqual([id]);
  });

  test('requests come oldest first', async () => {
    await ask({ account_id: 'bob-savings' });
    const requests = await recordsOf('getTransactionsRequest', from);
    const dates = requests.map(({ start_date }) => String(start_date));
    expect(dates).toEqual(dates.toSorted());
  });
});

test('what leaves the accounts of this bank is what was paid to other banks, to the last digit', async () => {
  const accounts = ['alice-current', 'alice-savings', 'family-joint'];
  const outside = ['payee-employer', 'DE89370400440532013000', closedAccount, slowAccount];
  const total = async () =>
    (await Promise.all(accounts.map((account) => balanceOf(call, account))))
      .map(cents)
      .reduce((sum, more) => sum + more);
  const transfer = fc.record({
    from: fc.constantFrom(...accounts),
    to: fc.constantFrom(...accounts, ...outside),
    amount: fc
      .tuple(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 1, max: 99 }))
      .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(2, '0')}`),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(transfer, { maxLength: 6 }), async (transfers) => {
      let expected = await total();
      for (const { from, to, amount } of transfers) {
        const answer = await call('postMakeTransaction', { ACCOUNT_ID: from }, { body: payTo(to, amount) });
        const left = outside.includes(to) && Object(answer.json).status === 'COMPLETED';
        if (left) expected -= cents(amount);
      }
      expect(await total()).toBe(expected);
    }),
    { numRuns: 10 },
  );
});
