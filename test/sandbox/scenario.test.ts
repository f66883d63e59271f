import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readScenario } from '../../src/sandbox/scenario.ts';
import { testFolder } from '../support/test-folder.ts';
import { balanceOf, freshBank, payTo, recordOf, recordsOf } from './bank-caller.ts';

const file = join(testFolder(), 'scenario.json');

const customers = ['alice', 'bob', 'carol', 'yuki', 'omar'];
const now = Date.UTC(2026, 0, 31, 12);

test.each(customers)('empty: %s logs in to an account that holds nothing yet', async (caller) => {
  await using bank = await freshBank({ scenario: 'empty' });
  const ids = { ACCOUNT_ID: `${caller}-current` };
  const accounts = await bank.call('getAccountsScope', { ...ids, scope: 'permissions' }, { caller });
  expect(recordsOf('getAccountsScope', accounts)).toMatchObject([
    { id: `${caller}-current`, balance: { currency: 'EUR', amount: '0.00' } },
  ]);
  for (const id of ['getOtherAccounts', 'getTransactionsRequest', 'getMessagesOwner'] as const)
    expect(recordsOf(id, await bank.call(id, ids, { caller }))).toEqual([]);
  expect(recordsOf('getBranches', await bank.call('getBranches'))).toHaveLength(26);
});

test('bad-day begins with faults, unless others are given', async () => {
  const faultsOf = async (faults?: string) => {
    await using bank = await freshBank({ scenario: 'bad-day', faults });
    return (await (await fetch(`${bank.url}/sandbox/faults`)).json()) as unknown[];
  };
  expect(await faultsOf()).toHaveLength(5);
  expect(await faultsOf('down')).toHaveLength(1);
});

describe('a file', () => {
  test('as the documentation shows it: a customer of one’s own, with all that she has', async () => {
    const docs = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(docs) ?? [];
    await writeFile(file, example.replace('"faults": "slow-day",', ''));
    await using bank = await freshBank({ scenario: file, now });
    const as = { caller: 'zoe' };
    const ids = { ACCOUNT_ID: 'zoe-current' };
    const customer = await bank.call('getCustomer', { CUSTOMER_ID: 'zoe' }, as);
    expect(recordOf('getCustomer', customer)).toMatchObject({ legal_name: 'Ζωή', bank_id: ['SNDBCY2N'] });
    expect(await balanceOf(bank.call, 'zoe-current', 'zoe')).toBe('12.50');
    const [request] = recordsOf('getTransactionsRequest', await bank.call('getTransactionsRequest', ids, as));
    const TRANSACTION_ID = String(request?.transaction_ids);
    const transaction = await bank.call('getTransaction', { ...ids, TRANSACTION_ID }, as);
    expect(recordOf('getTransaction', transaction)).toMatchObject({
      other_account: 'payee-gym',
      this_account: 'zoe-current',
      details: { value: { amount: '-30.00' }, posted: '2026-01-28T14:30:00.000Z' },
    });
    const [message] = recordsOf('getMessagesOwner', await bank.call('getMessagesOwner', {}, as));
    expect(message?.date).toBe('2026-01-30T09:00:00.000Z');
    expect(
      (await bank.call('postMakeTransaction', ids, { ...as, body: payTo('payee-gym', '2.50') })).status,
    ).toBe(200);
    expect(await balanceOf(bank.call, 'zoe-current', 'zoe')).toBe('10.00');
  });

  test('adds to the standard, in every section, and stands in for records with its ids', async () => {
    const scenario = {
      accounts: { 'alice-current': { owners: ['alice'], label: 'Other' } },
      branches: { 'nicosia-main': { acceptsDeposits: false } },
      products: { mine: { name: 'Mine' } },
      metadata: { languages: [{ code: 'ka' }] },
      transactions: { 'yuki-current': [{ id: 'tx-mine', details: { status: 'PENDING' } }] },
      transactionRequests: {
        'yuki-current': [
          {
            status: 'PENDING',
            transaction_ids: 'tx-mine',
            start_date: '-2d',
            body: { value: { amount: 1.1 } },
          },
        ],
      },
    };
    await writeFile(file, JSON.stringify(scenario));
    await using bank = await freshBank({ scenario: file, now });
    const { call } = bank;
    expect(await balanceOf(call, 'alice-current')).toBe('0');
    expect(recordsOf('getBranches', await call('getBranches'))[0]).toEqual({
      id: 'nicosia-main',
      acceptsDeposits: false,
    });
    expect(recordOf('getProduct', await call('getProduct', { PRODUCT_ID: 'mine' }))).toMatchObject({
      name: 'Mine',
      bank_id: ['SNDBCY2N'],
    });
    const languages = recordsOf(
      'postMetadata',
      await call('postMetadata', {}, { body: { id: 'languages' } }),
    );
    expect(languages.at(-1)).toEqual({ id: 'languages', code: 'ka' });
    const yuki = { caller: 'yuki' };
    const list = await call('getTransactionsRequest', { ACCOUNT_ID: 'yuki-current' }, yuki);
    expect(recordsOf('getTransactionsRequest', list)).toMatchObject([
      { status: 'PENDING', transaction_ids: 'tx-mine', start_date: '2026-01-29T09:00:00.000Z' },
    ]);
  });

  test.each([
    ['no JSON', '{', 'the file is not JSON.'],
    ['an unknown member', '{"acounts": {}}', 'Unrecognized key: "acounts".'],
    [
      'an unknown field',
      '{"customers": {"zoe": {"name": "Z"}}}',
      'customers: zoe: Unrecognized key: "name".',
    ],
    ['another base', '{"base": "full"}', 'base: Invalid option'],
    ['an account of nobody', '{"accounts": {"a": {}}}', 'accounts: a: owners: is missing.'],
    ['an owner who is not there', '{"accounts": {"a": {"owners": ["zoe"]}}}', 'there is no customer zoe.'],
    ['payees of no account', '{"otherAccounts": {"a": []}}', 'otherAccounts: there is no account a.'],
    ['messages to nobody', '{"messages": {"zoe": []}}', 'messages: there is no customer zoe.'],
    ['transactions of no account', '{"transactions": {"a": []}}', 'transactions: there is no account a.'],
    ['faults that there are not', '{"faults": "rain"}', '"rain": it is neither a scenario'],
  ])('with %s is refused, and says where', async (_, text, message) => {
    await writeFile(file, text);
    await expect(freshBank({ scenario: file })).rejects.toThrow(message);
  });

  test('that is not there is refused with the names that are', () => {
    expect(() => readScenario('emtpy')).toThrow('give standard, empty, bad-day, or the path of a JSON file');
    expect(() => readScenario('constructor')).toThrow('give standard');
  });
});
