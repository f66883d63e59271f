import { describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { exact, failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { Reply } from '../support/recording-bank.ts';

const { bank, ask } = await shareBankqlFixture();

const threeAccounts = `{ bank {
  a: account(accountId: "A") { label }
  b: account(accountId: "B") { accountId label balance { amount } }
  c: account(accountId: "C") { label }
} }`;
const ownersOfAccount = '{ bank { account(accountId: "A") { label owners { customerId legalName } } } }';

/** One failure of each kind; test/bank/faults.test.ts has all others. */
const failures: readonly (readonly [string, Reply | 'reset' | 'hang', string, number | undefined])[] = [
  ['403', { status: 403, body: 'the word of the bank' }, 'FORBIDDEN', 403],
  ['429', { status: 429, body: 'the word of the bank' }, 'RATE_LIMITED', 429],
  ['500', { status: 500, body: { message: 'the word of the bank' } }, 'BANK_ERROR', 500],
  ['no JSON', { body: '{"accounts": [' }, 'BANK_BAD_RESPONSE', 200],
  ['an empty object in place of the list', { body: {} }, 'NOT_FOUND', undefined],
  ['a list of nothing in place of the object', { body: [] }, 'NOT_FOUND', undefined],
  ['a reset', 'reset', 'BANK_UNAVAILABLE', undefined],
  ['silence', 'hang', 'BANK_TIMEOUT', undefined],
];

describe('one of several records', () => {
  test.each(failures)(
    'that fails with %s is null with an error, and the others are answered',
    async (_, reply, code, status) => {
      await using fixture = await startBankqlFixture(
        reply === 'hang' ? { bankOptions: { timeoutMs: 2_000 } } : {},
      );
      fixture.bank.otherwise(anyAnswer).on('GET /v1/api/banks/BANK/accounts/B/owner/views', () => reply);
      const result = await fixture.ask(threeAccounts);
      expect(result.data).toEqual({
        bank: { a: { label: 'A as owner' }, b: null, c: { label: 'C as owner' } },
      });
      expect(result.errors).toMatchObject([
        { path: ['bank', 'b'], extensions: { code, operation: 'getAccountsScope' } },
      ]);
      const [error] = result.errors ?? [];
      expect(error?.extensions.status).toBe(status);
      expect(error?.extensions.retryable).toBe(
        ['RATE_LIMITED', 'BANK_UNAVAILABLE', 'BANK_TIMEOUT'].includes(code),
      );
      // The bank's text is shown only for statuses 4xx.
      expect(JSON.stringify(result).includes('the word of the bank')).toBe(
        status !== undefined && status >= 400 && status < 500,
      );
      expect(fixture.bank.calls).toHaveLength(3);
    },
  );

  test('has a Track-ID in its error exactly if its call had one', async () => {
    bank.otherwise({ status: 403 });
    const result = await ask('{ metadata(id: "M") { totalCount } bank { messages { totalCount } } }');
    const tracked = bank.calls.find(({ path }) => path.endsWith('/metadata'));
    expect(result.errors?.map(({ extensions }) => [extensions.operation, extensions.trackId]).sort()).toEqual(
      [
        ['getMessagesOwner', undefined],
        ['postMetadata', tracked?.headers['track-id']],
      ],
    );
  });
});

describe('a list of links', () => {
  test('is null only for the owner that cannot be read', async () => {
    bank.otherwise(anyAnswer).on('GET /v1/api/banks/BANK/customers/O2', { status: 403, body: 'not yours' });
    const result = await ask(ownersOfAccount);
    expect(result.data).toEqual({
      bank: {
        account: { label: 'A as owner', owners: [{ customerId: 'O1', legalName: 'name of O1' }, null] },
      },
    });
    expect(failuresOf(result)).toEqual(['bank.account.owners.1 FORBIDDEN']);
  });

  test('is null only for the owner whose id is invalid', async () => {
    bank.otherwise(anyAnswer).on('GET /v1/api/banks/BANK/accounts/A/owner/views', {
      body: { accounts: [{ balance: {}, owners: ['O1', true, '..', '', null, 'O2'] }] },
    });
    const result = await ask(ownersOfAccount);
    const [first, last] = ['O1', 'O2'].map((id) => ({ customerId: id, legalName: `name of ${id}` }));
    expect(result.data).toEqual({
      bank: { account: { label: null, owners: [first, null, null, null, null, last] } },
    });
    expect(failuresOf(result)).toEqual(
      [1, 2, 3, 4].map((index) => `bank.account.owners.${index} BANK_BAD_RESPONSE`),
    );
    expect(bank.calls).toHaveLength(3);
  });

  test('is null as a whole if the bank sends no list', async () => {
    bank.otherwise(anyAnswer).on('GET /v1/api/banks/BANK/accounts/A/owner/views', {
      body: { accounts: [{ balance: {}, owners: true, label: 'l' }] },
    });
    const result = await ask(ownersOfAccount);
    expect(result.data).toEqual({ bank: { account: { label: 'l', owners: null } } });
    expect(failuresOf(result)).toEqual(['bank.account.owners BANK_BAD_RESPONSE']);
  });
});

describe('a request without the auth headers', () => {
  test('has null for fields that need them, without a call, and answers the others', async () => {
    bank.otherwise(anyAnswer);
    const document = `{ bank {
      branches { totalCount } customer(customerId: "C") { legalName } account(accountId: "A") { label otherAccounts { totalCount } }
    } }`;
    const result = await ask(document, undefined, { 'Ocp-Apim-Subscription-Key': 'key' });
    expect(result.data).toEqual({
      bank: {
        branches: { totalCount: 1 },
        customer: null,
        account: { label: 'A as owner', otherAccounts: null },
      },
    });
    expect(failuresOf(result)).toEqual([
      'bank.account.otherAccounts MISSING_CREDENTIALS',
      'bank.customer MISSING_CREDENTIALS',
    ]);
    expect(bank.lines().sort()).toEqual([
      'GET /v1/api/banks/BANK/accounts/A/owner/views',
      'GET /v1/api/banks/BANK/branches',
    ]);
  });
});

describe('a failing list', () => {
  test('is one error for every field that reads it', async () => {
    bank
      .otherwise(anyAnswer)
      .on('GET /v1/api/banks/BANK/accounts/A/owner/other_accounts', { status: 500, body: exact('1') });
    const result = await ask(`{
      bank {
        account(accountId: "A") {
          label
          all: otherAccounts { totalCount }
          one: otherAccount(otherAccountId: "OTHER") { kind }
          id: otherAccount(otherAccountId: "OTHER") { otherAccountId }
        }
      }
    }`);
    expect(result.data).toEqual({
      bank: { account: { label: 'A as owner', all: null, one: null, id: { otherAccountId: 'OTHER' } } },
    });
    expect(failuresOf(result)).toEqual(['bank.account.all BANK_ERROR', 'bank.account.one BANK_ERROR']);
    expect(bank.calls).toHaveLength(2);
  });
});
