import { describe, expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

/** Entries of lists that share an id, or have none: no two of them may be one object of a client's cache. */

const root = '/v1/api/banks/BANK';

const lists = [
  {
    type: 'MetadataEntry',
    call: 'POST /v1/api/metadata',
    body: {
      metadata: [
        { id: 'set', code: 'one' },
        { id: 'set', code: 'two' },
        { id: 'set', code: 'three' },
      ],
    },
    query: '{ metadata(id: "set") { nodes { id bankId: metadataId name: code } } }',
    name: 'code',
    idField: 'metadataId',
    at: 'metadata',
  },
  {
    type: 'Branch',
    call: `GET ${root}/branches`,
    body: {
      branches: [
        { id: 'x', name: 'one', acceptsDeposits: true },
        { id: 'y', name: 'other', acceptsDeposits: false },
        { id: 'x', name: 'two', acceptsDeposits: true },
      ],
    },
    query: '{ bank { list: branches { nodes { id bankId: branchId name } } } }',
    name: 'name',
    idField: 'branchId',
    at: 'list',
  },
  {
    type: 'Branch',
    call: `GET ${root}/branches`,
    body: {
      branches: [
        { id: 'y', name: 'rest', acceptsDeposits: false },
        { id: 'x', name: 'one', acceptsDeposits: true },
        { id: 'x', name: 'two', acceptsDeposits: true },
      ],
    },
    query: '{ bank { list: branches(search: "o") { nodes { id bankId: branchId name } } } }',
    name: 'name',
    idField: 'branchId',
    at: 'list',
  },
  {
    type: 'Product',
    call: `POST ${root}/products`,
    body: {
      product: [
        { id: 'x', name: 'one' },
        { id: 'x', name: 'two' },
      ],
    },
    query: '{ bank { list: products(filter: { id: "all" }) { nodes { id bankId: productId name } } } }',
    name: 'name',
    idField: 'productId',
    at: 'list',
  },
  {
    type: 'OtherAccount',
    call: `GET ${root}/accounts/A/owner/other_accounts`,
    body: {
      otherAccounts: [
        { id: 'y', bank: 'other' },
        { id: 'x', bank: 'one' },
        { id: 'x', bank: 'two' },
      ],
    },
    query:
      '{ bank { account(accountId: "A") { list: otherAccounts(filter: { id: "x" }) { nodes { id bankId: otherAccountId name: bankName } } } } }',
    name: 'bankName',
    idField: 'otherAccountId',
    at: 'list',
  },
] as const;

interface Entry {
  readonly id: string;
  readonly bankId: string;
  readonly name: string;
}

function entriesIn(data: unknown, at: string): readonly Entry[] {
  if (typeof data !== 'object' || data === null) return [];
  if (Object.hasOwn(data, at)) return Reflect.get(Object(Reflect.get(data, at)), 'nodes');
  return Object.values(data).flatMap((value) => entriesIn(value, at));
}

describe.each(lists)(
  'entries of $query that share an id',
  ({ type, call, body, query, name, idField, at }) => {
    test('have ids of their own, which lead back to each of them', async () => {
      await using fixture = await startBankqlFixture();
      fixture.bank.on(call, { body });
      const listed = await fixture.ask(query);
      expect(listed.errors).toBeUndefined();
      const entries = entriesIn(listed.data, at);
      expect(entries.length).toBeGreaterThan(1);
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      expect(new Set(entries.map(({ bankId }) => bankId)).size).toBe(
        entries.filter((e) => e.name === 'other').length + 1,
      );
      for (const entry of entries) {
        const again = await fixture.ask(
          `{ node(id: "${entry.id}") { id ... on ${type} { bankId: ${idField} name: ${name} } } }`,
        );
        expect(again.errors).toBeUndefined();
        expect(again.data).toEqual({ node: entry });
        const alone = await fixture.ask(`{ node(id: "${entry.id}") { ... on ${type} { ${idField} } } }`);
        expect(alone.data).toEqual({ node: { [idField]: entry.bankId } });
      }
    });
  },
);

describe('accounts without an id', () => {
  const accounts = (...labels: string[]) => ({
    body: { accounts: labels.map((label) => ({ label, balance: { amount: 1 } })) },
  });
  const query =
    '{ bank { accounts(accountId: "A") { nodes { label accountId transaction(transactionId: "T") { uuid } } } } }';

  test('among several have no id to act on: fields that need it fail, and nothing is asked for by the path’s id', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(`GET ${root}/accounts/A/owner/views`, accounts('one', 'two'));
    const { data, errors } = await fixture.ask(query.replace('accountId transaction', 'transaction'));
    expect(data).toEqual({
      bank: {
        accounts: {
          nodes: [
            { label: 'one', transaction: null },
            { label: 'two', transaction: null },
          ],
        },
      },
    });
    expect(failuresOf({ data, errors } as never)).toEqual([
      'bank.accounts.nodes.0.transaction BANK_BAD_RESPONSE',
      'bank.accounts.nodes.1.transaction BANK_BAD_RESPONSE',
    ]);
    expect(fixture.bank.lines()).toEqual([`GET ${root}/accounts/A/owner/views`]);
    const withIds = await fixture.ask('{ bank { accounts(accountId: "A") { nodes { label accountId } } } }');
    expect(withIds.data).toEqual({ bank: { accounts: { nodes: [null, null] } } });
    expect(failuresOf(withIds)).toEqual([
      'bank.accounts.nodes.0.accountId BANK_BAD_RESPONSE',
      'bank.accounts.nodes.1.accountId BANK_BAD_RESPONSE',
    ]);
  });

  test('that are alone are the path’s', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(`GET ${root}/accounts/A/owner/views`, accounts('only'));
    const { data } = await fixture.ask('{ bank { accounts(accountId: "A") { nodes { label accountId } } } }');
    expect(data).toEqual({ bank: { accounts: { nodes: [{ label: 'only', accountId: 'A' }] } } });
  });
});

describe('accounts of other banks', () => {
  const account = (id: string, bank_id: string | null, label: string) => ({
    ...accountRecord,
    id,
    bank_id,
    label,
  });
  const views = `GET ${root}/accounts/A/owner/views`;
  const query = `{ bank { accounts(accountId: "A") { nodes {
    id bankId accountId label transaction(transactionId: "T") { uuid }
  } } } }`;
  const linesOf = (...accounts: string[]) =>
    accounts.map((path) => `GET /v1/api/banks/${path}/owner/transactions/T/transaction`);

  /** The accounts of a list, and the calls for what hangs on them. */
  async function list(...accounts: object[]) {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(({ path }) => ({ body: { uuid: path } })).on(views, { body: { accounts } });
    const { data, errors } = await fixture.ask(query);
    expect(errors).toBeUndefined();
    const [first, ...lines] = fixture.bank.lines();
    expect(first).toBe(views);
    return { nodes: Object(data).bank.accounts.nodes as readonly (Entry & { label: string })[], lines };
  }

  test('have that bank’s ids, and what hangs on them is asked for there', async () => {
    const { nodes, lines } = await list(
      account('A', 'BANKXXX', 'own'),
      account('A', 'OTHER', 'foreign'),
      account('B', 'OTHER', 'another'),
      account('C', null, 'unnamed'),
    );
    expect(nodes.map(({ bankId, label }) => [bankId, label])).toEqual([
      ['BANK', 'own'],
      ['OTHER', 'foreign'],
      ['OTHER', 'another'],
      ['BANK', 'unnamed'],
    ]);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(4);
    expect(lines.sort()).toEqual(
      linesOf('BANK/accounts/A', 'OTHER/accounts/A', 'OTHER/accounts/B', 'BANK/accounts/C').sort(),
    );
  });

  test('are not told apart if no entry names this bank, whose code is then another one in records', async () => {
    const { nodes, lines } = await list(account('A', '0042', 'one'), account('B', '0042', 'two'));
    expect(nodes.map(({ bankId }) => bankId)).toEqual(['BANK', 'BANK']);
    expect(lines.sort()).toEqual(linesOf('BANK/accounts/A', 'BANK/accounts/B'));
  });
});

describe('the transactions of a request', () => {
  const requests = `GET ${root}/accounts/A/owner/transaction-requests`;
  const transaction = (id: string) => `GET ${root}/accounts/A/owner/transactions/${id}/transaction`;
  const ids = Array.from({ length: 60 }, (_, index) => `T${index}`);
  const ask = (args: string) =>
    `{ bank { account(accountId: "A") { transactionRequests { nodes { transactions${args} { transactionId uuid } } } } } }`;

  test('are cut to the page before any of them is read', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: ids.join(',') }] } });
    for (const id of ids) fixture.bank.on(transaction(id), { body: { uuid: `uuid-${id}` } });
    const { data, errors } = await fixture.ask(ask('(first: 2, after: "T9")'));
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).toContain(
      '"transactions":[{"transactionId":"T10","uuid":"uuid-T10"},{"transactionId":"T11","uuid":"uuid-T11"}]',
    );
    expect(fixture.bank.lines().sort()).toEqual([requests, transaction('T10'), transaction('T11')].sort());
  });

  test('are each there once, so that a page leads to the next although the bank names one twice', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: 'T1,T2,T1,T3' }] } });
    const page = async (args: string) => {
      const { data } = await fixture.ask(ask(args).replace(' uuid', ''));
      return JSON.stringify(data).match(/T\d/g);
    };
    expect(await page('')).toEqual(['T1', 'T2', 'T3']);
    expect(await page('(first: 2)')).toEqual(['T1', 'T2']);
    expect(await page('(first: 2, after: "T2")')).toEqual(['T3']);
    expect(fixture.bank.lines()).toEqual([requests, requests, requests]);
  });

  test.each([
    ['(first: -1)', 'first'],
    ['(after: "T99")', 'after'],
  ])('%s is refused', async (args, argument) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: 'T1' }] } });
    const result = await fixture.ask(ask(args));
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.0.transactions BAD_USER_INPUT',
    ]);
    expect(result.errors?.[0]?.extensions.argument).toEqual([argument]);
    expect(fixture.bank.lines()).toEqual([requests]);
  });

  test('have one error if the operation may not make that many calls', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 10 } });
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: ids.join(',') }] } });
    for (const id of ids) fixture.bank.on(transaction(id), { body: { uuid: `uuid-${id}` } });
    const { data, errors } = await fixture.ask(ask(''));
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['CALL_BUDGET_EXCEEDED']);
    expect(JSON.stringify(data).match(/uuid-/g)).toHaveLength(9);
    expect(JSON.stringify(data).match(/null/g)).toHaveLength(51);
  });
});
