import { describe, expect, test } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { bankForAll } from './bank-caller.ts';

const { call, recordsOf, recordOf } = bankForAll();

const idsOf = (records: Record<string, unknown>[]) => records.map(({ id }) => id);

describe('accounts through a view', () => {
  test('scope views gives the one account of the path', async () => {
    expect(
      await recordOf('getAccountsScope', { ACCOUNT_ID: 'bob-current', scope: 'views' }, { caller: 'bob' }),
    ).toMatchObject({
      id: 'bob-current',
      bank_id: 'SNDBCY2N',
      owners: ['bob'],
      balance: { currency: 'EUR' },
      views_available: ['owner', 'public'],
    });
  });

  test('scope permissions gives the caller’s accounts through owner, joint ones too', async () => {
    expect(
      idsOf(await recordsOf('getAccountsScope', { ACCOUNT_ID: 'alice-current', scope: 'permissions' })),
    ).toEqual(['alice-current', 'alice-savings', 'alice-trust', 'alice-yen', 'family-joint']);
  });

  test('scope permissions gives every account that has it through public, to anybody with the key', async () => {
    const ids = { ACCOUNT_ID: 'alice-current', VIEW_ID: 'public', scope: 'permissions' };
    const records = await recordsOf('getAccountsScope', ids, { caller: null });
    expect(idsOf(records)).toContain('omar-current');
    expect(idsOf(records)).not.toContain('family-joint');
    expect(records).toHaveLength(12);
  });

  test('public shows no owner, no number, no IBAN and no amount, not even to the owner', async () => {
    const ids = { ACCOUNT_ID: 'alice-current', VIEW_ID: 'public', scope: 'views' };
    for (const caller of [null, 'bob', 'alice']) {
      const [account] = await recordsOf('getAccountsScope', ids, { caller });
      expect(account).toEqual({
        id: 'alice-current',
        bank_id: 'SNDBCY2N',
        label: 'Everyday',
        type: ['current'],
        views_available: ['owner', 'public'],
        balance: { currency: 'EUR' },
      });
    }
  });

  test('owner is for the owners: 403 for another caller and for nobody', async () => {
    for (const caller of ['bob', null]) {
      const answer = await call(
        'getAccountsScope',
        { ACCOUNT_ID: 'alice-current', scope: 'views' },
        { caller },
      );
      expect(answer.status).toBe(403);
    }
  });

  test.each([
    ['no account', { ACCOUNT_ID: 'nothing', scope: 'views' }],
    ['no account, whatever its name holds', { ACCOUNT_ID: 'a/b ?#%é', scope: 'views' }],
    ['an unknown view', { ACCOUNT_ID: 'alice-current', VIEW_ID: 'auditor', scope: 'views' }],
    [
      'a view that the account does not offer',
      { ACCOUNT_ID: 'family-joint', VIEW_ID: 'public', scope: 'views' },
    ],
    ['an unknown scope', { ACCOUNT_ID: 'alice-current', scope: 'everything' }],
  ])('404 for %s', async (_, ids) => {
    expect((await call('getAccountsScope', ids)).status).toBe(404);
  });
});

describe('what only owners see', () => {
  const body = { to: { account_id: 'carol-current' } };
  const details = { details: { approved_by_ip_address: '192.0.2.1' } };
  const owned: readonly (readonly [OperationId, Record<string, string>, unknown])[] = [
    ['getOtherAccounts', {}, undefined],
    ['postOtherAccounts', {}, { IBAN: 'GR1601101250000000012300695' }],
    ['getTransaction', { TRANSACTION_ID: 'tx-0001' }, undefined],
    ['putTransactions', { TRANSACTION_ID: 'tx-0001', TYPE: 'comments' }, details],
    ['getTransactionsRequest', {}, undefined],
    ['putTransactionsRequestAccount', { TYPE: 'SANDBOX_TAN' }, body],
  ];

  test.each(owned)(
    '%s: 403 for another’s account and for the view public, 404 for none',
    async (id, ids, body) => {
      const at = (account: string, view = 'owner') => ({ ...ids, ACCOUNT_ID: account, VIEW_ID: view });
      expect((await call(id, at('alice-current'), { body, caller: 'bob' })).status).toBe(403);
      expect((await call(id, at('alice-current', 'public'), { body })).status).toBe(403);
      expect((await call(id, at('nothing'), { body })).status).toBe(404);
      expect((await call(id, at('alice-current', 'auditor'), { body })).status).toBe(404);
    },
  );

  test('another’s account can neither be put nor paid from', async () => {
    const balance = { currency: 'EUR', amount: '1' };
    const put = await call('putAccountID', { ACCOUNT_ID: 'bob-current' }, { body: { balance } });
    expect(put.status).toBe(403);
    const pay = { from: {}, to: { account_id: 'alice-current' }, value: balance };
    expect((await call('postMakeTransaction', { ACCOUNT_ID: 'bob-current' }, { body: pay })).status).toBe(
      403,
    );
  });

  test('a transaction of one account is not found through another of the same owner', async () => {
    const ids = { ACCOUNT_ID: 'alice-savings', TRANSACTION_ID: 'tx-0001' };
    expect((await call('getTransaction', ids)).status).toBe(404);
  });
});

describe('customers', () => {
  test('a caller reads their own record, and that of a joint owner', async () => {
    const alice = await recordOf('getCustomer', { CUSTOMER_ID: 'alice' });
    expect(alice).toMatchObject({ legal_name: 'Αλίκη Παπαδοπούλου', metadata: ['verified', 'paperless'] });
    expect((await recordOf('getCustomer', { CUSTOMER_ID: 'carol' })).customer_number).toBe('100003');
  });

  test('another customer is forbidden, an unknown one not found', async () => {
    expect((await call('getCustomer', { CUSTOMER_ID: 'bob' })).status).toBe(403);
    expect((await call('getCustomer', { CUSTOMER_ID: 'carol' }, { caller: 'bob' })).status).toBe(403);
    expect((await call('getCustomer', { CUSTOMER_ID: 'nobody' })).status).toBe(404);
  });

  test('a caller puts nobody’s record but their own', async () => {
    for (const CUSTOMER_ID of ['bob', 'carol', 'nobody']) {
      expect((await call('putCustomerID', { CUSTOMER_ID }, { body: {} })).status).toBe(403);
    }
  });
});
