import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { TransactionRequest } from '../../src/contract/transaction-request.ts';
import { callers } from '../../src/sandbox/identity.ts';
import { seededDatabase } from '../../src/sandbox/seed.ts';
import { seededAccounts, seededCustomers } from '../../src/sandbox/seed-data.ts';

const database = seededDatabase(Date.UTC(2026, 0, 31));
const accounts = database.accounts.all();
const accountIds = seededAccounts.map(({ id }) => id);
const isStatement = ({ resource_url }: TransactionRequest) => resource_url?.includes('#statement-');

test('there is enough of everything to look at, and as much as the docs say', async () => {
  const docs = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
  const all = <T>(of: (id: string) => T[]) => accountIds.flatMap(of);
  const sets = ['transaction-types', 'transaction-statuses', 'account-types', 'languages'];
  const counts = {
    customers: database.customers.all().length,
    accounts: accounts.length,
    branches: database.branches.all().length,
    products: database.products.all().length,
    counterparties: all(database.otherAccounts.of).length,
    transactions: new Set(all(database.transactions.of).map(({ id }) => id)).size,
    'transaction requests': all(database.transactionRequests.of).filter((request) => !isStatement(request))
      .length,
    messages: callers.flatMap(database.messages.of).length,
    'metadata ids': sets.filter((id) => database.metadata.of(id).length >= 3).length,
  };
  expect(counts).toEqual({
    customers: 5,
    accounts: 13,
    branches: 26,
    products: 12,
    counterparties: 291,
    transactions: 233,
    'transaction requests': 19,
    messages: 8,
    'metadata ids': 4,
  });
  for (const [name, count] of Object.entries(counts)) expect(docs).toContain(`| ${count} ${name} |`);
  for (const { id, owners, balance } of accounts) {
    expect(docs).toContain(`| \`${id}\` | ${owners?.join(', ')} | ${balance?.amount} ${balance?.currency}`);
  }
});

test.each(accountIds.filter((id) => id !== 'yuki-current'))(
  '%s: what its records name is there, and its history ends with its balance',
  (id) => {
    const account = database.accounts.get(id);
    const transactions = database.transactions.of(id);
    for (const owner of account?.owners ?? []) expect(database.customers.get(owner)).toBeDefined();
    expect(database.otherAccounts.of(id).length).toBeGreaterThanOrEqual(5);
    for (const transaction of transactions) {
      expect(transaction.this_account).toBe(id);
      expect(database.otherAccounts.get(id, transaction.other_account ?? '')).toBeDefined();
      if (id !== 'omar-current')
        expect(Number(transaction.details?.new_balance?.amount)).toBeGreaterThanOrEqual(0);
    }
    expect(transactions.at(-1)?.details?.new_balance).toEqual(account?.balance);
    for (const request of database.transactionRequests.of(id)) {
      if (isStatement(request)) continue;
      const toId = request.body?.to?.account_id ?? '';
      expect(database.accounts.get(toId) ?? database.otherAccounts.get(id, toId)).toBeDefined();
      for (const transactionId of request.transaction_ids?.split(',') ?? []) {
        expect(database.transactions.get(id, transactionId)?.details).toMatchObject({
          value: { currency: 'EUR', amount: `-${request.body?.value?.amount}` },
        });
      }
    }
  },
);

test('every transaction has a uuid of its own, which both sides of a transfer share', () => {
  const uuids = new Map<unknown, unknown>();
  for (const { id, uuid } of accountIds.flatMap(database.transactions.of)) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uuids.get(uuid) ?? id).toBe(id);
    uuids.set(uuid, id);
  }
  expect(uuids.size).toBe(233);
});

test('requests are in every state, and payments failed or pending move no money', () => {
  const states = new Set(accountIds.flatMap(database.transactionRequests.of).map(({ status }) => status));
  expect([...states].sort()).toEqual(['CANCELLED', 'COMPLETED', 'FAILED', 'INITIATED', 'PENDING']);
  const known = database.metadata.of('transaction-statuses').map(({ code }) => code);
  expect(known.sort()).toEqual([...states].sort());
  const payments = accountIds.flatMap(database.transactions.of).map(({ details }) => details?.status);
  expect(new Set(payments)).toEqual(new Set(['COMPLETED', 'FAILED', 'PENDING']));
});

describe('five lives', () => {
  test('are those of the customers', () => {
    expect(Object.keys(seededCustomers)).toEqual(callers);
  });

  test.each(callers)('%s has a record, and a current account to start from', (id) => {
    expect(database.customers.get(id)?.legal_name).toEqual(expect.any(String));
    expect(database.accounts.get(`${id}-current`)?.owners).toEqual([id]);
  });

  test('a business has 200 suppliers, and a student nothing', () => {
    const suppliers = database.otherAccounts.of('bob-current').filter(({ kind }) => kind === 'supplier');
    expect(new Set(suppliers.map(({ IBAN }) => IBAN)).size).toBe(200);
    expect(new Set(suppliers.map(({ holder }) => holder?.name)).size).toBe(200);
    expect(accounts.filter(({ owners }) => owners?.includes('yuki')).map(({ balance }) => balance)).toEqual([
      { currency: 'EUR', amount: '0.00' },
    ]);
    for (const of of [database.otherAccounts, database.transactions, database.transactionRequests])
      expect(of.of('yuki-current')).toEqual([]);
    expect(database.messages.of('yuki')).toEqual([]);
  });

  test('one shares an account, and one owes money', () => {
    expect(database.accounts.get('family-joint')?.owners).toEqual(['alice', 'carol']);
    expect(Number(database.accounts.get('omar-current')?.balance?.amount)).toBeLessThan(0);
  });
});
