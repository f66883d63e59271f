import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { TransactionRequest } from '../../src/contract/transaction-request.ts';
import { customers, seededCustomers } from '../../src/sandbox/customers.ts';
import type { Database } from '../../src/sandbox/database.ts';
import { callers } from '../../src/sandbox/identity.ts';
import { accounts as accountTable, seededAccounts } from '../../src/sandbox/records/account.ts';
import { branches } from '../../src/sandbox/records/branch.ts';
import { messages } from '../../src/sandbox/records/message.ts';
import { metadata } from '../../src/sandbox/records/metadata.ts';
import { otherAccounts } from '../../src/sandbox/records/other-account.ts';
import { products } from '../../src/sandbox/records/product.ts';
import { seededDatabase } from '../../src/sandbox/seed.ts';
import { transactionRequests, transactions } from '../../src/sandbox/transfer.ts';

const database = seededDatabase(Date.UTC(2026, 0, 31));
const accounts = accountTable(database).all;
const accountIds = seededAccounts.map(({ id }) => id);
/** The records of a table, for all accounts. */
const ofAccounts = <T>(of: (from: Database, id: string) => { readonly all: T[] }) =>
  accountIds.flatMap((id) => of(database, id).all);
const isStatement = ({ resource_url }: TransactionRequest) => resource_url?.includes('#statement-');

test('there is enough of everything to look at, and as much as the docs say', async () => {
  const docs = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
  const counts = {
    customers: customers(database).all.length,
    accounts: accounts.length,
    branches: branches(database).all.length,
    products: products(database).all.length,
    counterparties: ofAccounts(otherAccounts).length,
    transactions: new Set(ofAccounts(transactions).map(({ id }) => id)).size,
    'transaction requests': ofAccounts(transactionRequests).filter((request) => !isStatement(request)).length,
    messages: callers.flatMap((id) => messages(database, id).all).length,
    'metadata ids': [...Map.groupBy(metadata(database).all, ({ id }) => id).values()].filter(
      ({ length }) => length >= 3,
    ).length,
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
    const account = accountTable(database).get(id);
    const history = transactions(database, id).all;
    for (const owner of account?.owners ?? []) expect(customers(database).get(owner)).toBeDefined();
    expect(otherAccounts(database, id).all.length).toBeGreaterThanOrEqual(5);
    for (const transaction of history) {
      expect(transaction.this_account).toBe(id);
      expect(otherAccounts(database, id).get(transaction.other_account ?? '')).toBeDefined();
      if (id !== 'omar-current')
        expect(Number(transaction.details?.new_balance?.amount)).toBeGreaterThanOrEqual(0);
    }
    expect(history.at(-1)?.details?.new_balance).toEqual(account?.balance);
    for (const request of transactionRequests(database, id).all) {
      if (isStatement(request)) continue;
      const toId = request.body?.to?.account_id ?? '';
      expect(accountTable(database).get(toId) ?? otherAccounts(database, id).get(toId)).toBeDefined();
      for (const transactionId of request.transaction_ids?.split(',') ?? []) {
        expect(transactions(database, id).get(transactionId)?.details).toMatchObject({
          value: { currency: 'EUR', amount: `-${request.body?.value?.amount}` },
        });
      }
    }
  },
);

test('every transaction has a uuid of its own, which both sides of a transfer share', () => {
  const uuids = new Map<unknown, unknown>();
  for (const { id, uuid } of ofAccounts(transactions)) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(uuids.get(uuid) ?? id).toBe(id);
    uuids.set(uuid, id);
  }
  expect(uuids.size).toBe(233);
});

test('requests are in every state, and payments failed or pending move no money', () => {
  const states = new Set(ofAccounts(transactionRequests).map(({ status }) => status));
  expect([...states].sort()).toEqual(['CANCELLED', 'COMPLETED', 'FAILED', 'INITIATED', 'PENDING']);
  const known = metadata(database)
    .all.filter(({ id }) => id === 'transaction-statuses')
    .map(({ code }) => code);
  expect(known.sort()).toEqual([...states].sort());
  const payments = ofAccounts(transactions).map(({ details }) => details?.status);
  expect(new Set(payments)).toEqual(new Set(['COMPLETED', 'FAILED', 'PENDING']));
});

describe('five lives', () => {
  test('are those of the customers', () => {
    expect(Object.keys(seededCustomers)).toEqual(callers);
  });

  test.each(callers)('%s has a record, and a current account to start from', (id) => {
    expect(customers(database).get(id)?.legal_name).toEqual(expect.any(String));
    expect(accountTable(database).get(`${id}-current`)?.owners).toEqual([id]);
  });

  test('a business has 200 suppliers, and a student nothing', () => {
    const suppliers = otherAccounts(database, 'bob-current').all.filter(({ kind }) => kind === 'supplier');
    expect(new Set(suppliers.map(({ IBAN }) => IBAN)).size).toBe(200);
    expect(new Set(suppliers.map(({ holder }) => holder?.name)).size).toBe(200);
    expect(accounts.filter(({ owners }) => owners?.includes('yuki')).map(({ balance }) => balance)).toEqual([
      { currency: 'EUR', amount: '0.00' },
    ]);
    for (const of of [otherAccounts, transactions, transactionRequests])
      expect(of(database, 'yuki-current').all).toEqual([]);
    expect(messages(database, 'yuki').all).toEqual([]);
  });

  test('one customer shares an account, and one owes money', () => {
    expect(accountTable(database).get('family-joint')?.owners).toEqual(['alice', 'carol']);
    expect(Number(accountTable(database).get('omar-current')?.balance?.amount)).toBeLessThan(0);
  });
});
