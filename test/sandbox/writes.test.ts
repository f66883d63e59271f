import { describe, expect, test } from 'vitest';
import { balanceOf, bankForEach, recordIn } from './bank-caller.ts';

const { call, recordsOf, recordOf } = bankForEach();

test('a customer’s own record is replaced, but for the metadata that no request may hold', async () => {
  const put = await call(
    'putCustomerID',
    { CUSTOMER_ID: 'bob' },
    { caller: 'bob', body: { email: 'b@example.com' } },
  );
  expect(put.json).toEqual({ bank_id: ['SNDBCY2N'], email: 'b@example.com', metadata: ['verified'] });
  const got = await call('getCustomer', { CUSTOMER_ID: 'bob' }, { caller: 'bob' });
  expect(got.json).toEqual(put.json);
});

test('a branch is created or replaced by the staff alone, with the path’s id, and the list keeps its order', async () => {
  const before = await recordsOf('getBranches');
  const refused = await call(
    'putBranchID',
    { BRANCH_ID: 'athens-main' },
    { caller: 'bob', body: { acceptsDeposits: false } },
  );
  expect(refused.json).toEqual({ code: 403, message: 'Only the staff of the bank put branches' });
  await call('putBranchID', { BRANCH_ID: 'nicosia-main' }, { body: { acceptsDeposits: false } });
  await call('putBranchID', { BRANCH_ID: 'Ζυγός/1' }, { body: { acceptsDeposits: true, id: 'Ζυγός/1' } });
  const after = await recordsOf('getBranches');
  expect(after).toHaveLength(before.length + 1);
  expect(after[0]).toEqual({ id: 'nicosia-main', acceptsDeposits: false });
  expect(after.at(-1)).toEqual({ id: 'Ζυγός/1', acceptsDeposits: true });
  const other = await call('putBranchID', { BRANCH_ID: 'a' }, { body: { acceptsDeposits: true, id: 'b' } });
  expect(other.json).toEqual({ code: 400, message: 'id: is not the id of the path' });
});

test('a product is put under its id, or gets one', async () => {
  const body = { bank_id: 'SNDBCY2N', name: 'Neu' };
  expect(await recordOf('putProduct', {}, { body: { ...body, id: 'product-0001' } })).toEqual({
    bank_id: ['SNDBCY2N'],
    name: 'Neu',
    id: 'product-0001',
  });
  const { id } = await recordOf('putProduct', {}, { body });
  expect(id).toBe('product-0002');
  expect((await recordOf('getProduct', { PRODUCT_ID: 'product-0002' })).name).toBe('Neu');
  expect((await call('putProduct', {}, { body: { ...body, bank_id: 'OTHERBNK' } })).status).toBe(400);
});

test('a message gets the time, and is read by the customer whom it was for', async () => {
  const body = { message: 'Σου έστειλα 5 €', from_department: '', from_person: 'Αλίκη' };
  const put = await recordOf('putCustomerMessage', { CUSTOMER_ID: 'bob' }, { body, caller: 'staff' });
  expect(Math.abs(Date.now() - Date.parse(String(put.date)))).toBeLessThan(60_000);
  const messages = await recordsOf('getMessagesOwner', {}, { caller: 'bob' });
  expect(messages.at(-1)).toEqual({ ...body, date: put.date });
  expect((await call('getMessagesOwner')).text).not.toContain('5 €');
  const toNobody = await call('putCustomerMessage', { CUSTOMER_ID: 'nobody' }, { body, caller: 'staff' });
  expect(toNobody.status).toBe(404);
});

test('a customer writes no messages of the bank, not even to themselves', async () => {
  const before = (await call('getMessagesOwner')).text;
  const body = { message: 'Your card is blocked', from_department: 'Cards', from_person: 'Alice' };
  for (const CUSTOMER_ID of ['alice', 'bob', 'nobody'])
    expect((await call('putCustomerMessage', { CUSTOMER_ID }, { body })).status).toBe(403);
  expect((await call('getMessagesOwner')).text).toBe(before);
});

test('a kind of metadata that the bank does not know is refused with those that it does', async () => {
  const ids = { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0003', TYPE: 'xyz' };
  const body = { details: { approved_by_ip_address: '::1' }, metadata: { comments: 'c' } };
  const before = (await call('getTransaction', ids)).text;
  expect((await call('putTransactions', ids, { body })).json).toEqual({
    code: 400,
    message: '{TYPE}: has to be one of comments, narrative, tags, where',
  });
  expect((await call('getTransaction', ids)).text).toBe(before);
});

test('a transaction keeps the bank’s values: only its metadata and the people who acted on it are replaced', async () => {
  const ids = { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0003', TYPE: 'comments' };
  const before = await recordOf('getTransaction', ids);
  const balance = await balanceOf(call, 'alice-current');
  const details = { approved_by_ip_address: '::1', paused_by_user_id: 'alice' };
  const metadata = { comments: 'Σωστό' };
  const posted = { value: { amount: '-1.10' }, status: 'FAILED', description: 'another', completed: 'now' };
  const body = {
    details: { ...details, ...posted },
    metadata,
    uuid: 'another',
    other_account: 'payee-books',
  };
  const put = await call('putTransactions', ids, { body });
  expect(put.json).toEqual({ ...before, details: { ...Object(before.details), ...details }, metadata });
  expect((await call('getTransaction', ids)).json).toEqual(put.json);
  expect(await balanceOf(call, 'alice-current')).toBe(balance);
});

test('a transaction is neither made nor renamed by a PUT', async () => {
  const details = { approved_by_ip_address: '::1' };
  const ids = { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0003', TYPE: 'comments' };
  const unknown = await call('putTransactions', { ...ids, TRANSACTION_ID: 'tx-9999' }, { body: { details } });
  expect(unknown.status).toBe(404);
  expect((await call('putTransactions', ids, { body: { details, id: 'tx-0004' } })).status).toBe(400);
  expect(
    (await call('putTransactions', ids, { body: { details, this_account: 'bob-current' } })).status,
  ).toBe(400);
});

describe('an account that is put', () => {
  test('is created for the caller, with zero euros and both views where the body says nothing', async () => {
    const put = await call('putAccountID', { ACCOUNT_ID: 'νέος' }, { body: { balance: {} } });
    expect(put.json).toEqual({
      id: 'νέος',
      bank_id: 'SNDBCY2N',
      owners: ['alice'],
      views_available: ['owner', 'public'],
      balance: { currency: 'EUR', amount: '0' },
    });
    expect(await balanceOf(call, 'νέος')).toBe('0');
  });

  test('keeps its balance: customers may send it as it is or leave it out, and not change it', async () => {
    const ids = { ACCOUNT_ID: 'alice-current' };
    for (const [balance, status] of [
      [{}, 200],
      [{ amount: '4305.80', currency: 'EUR' }, 200],
      [{ amount: '4305.800' }, 200],
      [{ amount: '4305.81' }, 403],
      [{ amount: '1000000' }, 403],
      [{ amount: '-0.01' }, 403],
      [{ amount: '4305.80', currency: 'USD' }, 403],
    ] as const)
      expect((await call('putAccountID', ids, { body: { label: 'L', balance } })).status).toBe(status);
    expect(Number(await balanceOf(call, 'alice-current'))).toBe(4305.8);
    const made = await call(
      'putAccountID',
      { ACCOUNT_ID: 'alice-rich' },
      { body: { balance: { amount: '1' } } },
    );
    expect(made.status).toBe(403);
  });

  test('by the staff may have any balance, and keeps its owners; the staff pay from no account', async () => {
    const ids = { ACCOUNT_ID: 'alice-current', TYPE: 'SANDBOX_TAN' };
    const put = await call('putAccountID', ids, { body: { balance: { amount: '7.00' } }, caller: 'staff' });
    expect(put.json).toMatchObject({ owners: ['alice'], balance: { currency: 'EUR', amount: '7.00' } });
    const body = { to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '1.00' } };
    const pay = await call('postMakeTransaction', ids, { body: { from: {}, ...body }, caller: 'staff' });
    const ask = await call('putTransactionsRequestAccount', ids, { body, caller: 'staff' });
    expect([pay.status, ask.status]).toEqual([403, 403]);
    expect(await balanceOf(call, 'alice-current')).toBe('7.00');
  });

  test('is replaced, its balance with every digit, and keeps what belongs to it', async () => {
    const digits = '9007199254740993.10';
    const body = `{"label":"新","owners":["alice","bob"],"balance":{"currency":"EUR","amount":${digits}}}`;
    const put = await call('putAccountID', { ACCOUNT_ID: 'alice-current' }, { body, caller: 'staff' });
    expect(put.text).toContain(`"amount":${digits}`);
    expect(recordIn('putAccountID', put)).not.toHaveProperty('IBAN');
    expect(await balanceOf(call, 'alice-current', 'bob')).toBe(digits);
    const ids = { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0001' };
    expect((await call('getTransaction', ids, { caller: 'bob' })).status).toBe(200);
  });

  test.each([
    ['balance', {}],
    ['balance.amount', { balance: { amount: '1e31' } }],
    ['balance.other', { balance: { other: 1 } }],
    ['id', { balance: {}, id: 'alice-savings' }],
    ['bank_id', { balance: {}, bank_id: 'OTHERBNK' }],
    ['owners', { balance: {}, owners: ['bob'] }],
    ['owners', { balance: {}, owners: ['alice', 'nobody'] }],
    ['owners', { balance: {}, owners: null }],
    ['views_available', { balance: {}, views_available: ['auditor'] }],
  ])('is refused with the name of the field: %s %j', async (field, body) => {
    const before = await call('getAccountsScope', { ACCOUNT_ID: 'alice-current', scope: 'views' });
    const answer = await call('putAccountID', { ACCOUNT_ID: 'alice-current' }, { body });
    expect(answer.json).toEqual({ code: 400, message: expect.stringMatching(`^${field}:`) });
    const after = await call('getAccountsScope', { ACCOUNT_ID: 'alice-current', scope: 'views' });
    expect(after.text).toBe(before.text);
  });
});
