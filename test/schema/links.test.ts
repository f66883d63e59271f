import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

/** bankql in front of a bank that has everything. */
async function start() {
  const fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  return fixture;
}

const account = 'GET /v1/api/banks/BANK/accounts/A/owner';
const requests = `${account}/transaction-requests`;

const LinksOfAccount = graphql(`
  query LinksOfAccount($scope: AccountScope! = PERMISSIONS) {
    bank {
      account(accountId: "A") {
        view(viewId: "public") { viewId label }
        accounts(scope: $scope) { nodes { accountId viewId } }
      }
    }
  }
`);

describe('an account', () => {
  test('leads to its other views, and to the accounts of its scopes', async () => {
    await using fixture = await start();
    const { data, errors } = await fixture.ask(LinksOfAccount, {});
    expect(errors).toBeUndefined();
    expect(data?.bank?.account).toEqual({
      view: { viewId: 'public', label: 'A as public' },
      accounts: { nodes: [{ accountId: 'A', viewId: 'owner' }] },
    });
    expect(fixture.bank.lines().sort()).toEqual([
      `${account}/permissions`,
      'GET /v1/api/banks/BANK/accounts/A/public/views',
    ]);
    fixture.bank.calls.length = 0;
    await fixture.ask(LinksOfAccount, { scope: 'VIEWS' });
    expect(fixture.bank.lines()).toContain(`${account}/views`);
  });

  test('has no view whose id is none', async () => {
    await using fixture = await start();
    const result = await fixture.ask<unknown, unknown>(
      '{ bank { account(accountId: "A") { view(viewId: "..") { label } } } }',
    );
    expect(failuresOf(result)).toEqual(['bank.account.view BAD_USER_INPUT']);
    expect(fixture.bank.lines()).toEqual([]);
  });
});

const LinksOfTransaction = graphql(`
  query LinksOfTransaction($transactionId: ID!) {
    bank {
      account(accountId: "A") {
        transaction(transactionId: $transactionId) { bank { bankId } }
      }
    }
  }
`);

describe('a transaction', () => {
  test('leads to its bank for nothing', async () => {
    await using fixture = await start();
    const { data } = await fixture.ask(LinksOfTransaction, { transactionId: 'T2' });
    expect(data).toEqual({ bank: { account: { transaction: { bank: { bankId: 'BANK' } } } } });
    expect(fixture.bank.lines()).toEqual([]);
  });
});

const RequestsWithIds = graphql(`
  query RequestsWithIds {
    bank { account(accountId: "A") { transactionRequests { nodes { id status account { label } } } } }
  }
`);

const RequestNode = graphql(`
  query RequestNode($id: ID!) { node(id: $id) { id ... on TransactionRequest { status account { accountId } } } }
`);

const RequestPut = graphql(`
  mutation RequestPut($key: String!) {
    putTransactionRequest(
      input: {
        accountId: "A", transactionRequestType: "T", to: { accountId: "B" }
        value: { amount: "5", currency: "EUR" }, idempotencyKey: $key
      }
    ) { payment { trackId } transactionRequests { id status } }
  }
`);

describe('a transaction request', () => {
  test('is a node, by its resource_url or by its place in the list', async () => {
    await using fixture = await start();
    const list = [
      { status: 'first' },
      { status: 'second', resource_url: '/requests#2' },
      { status: 'third' },
    ];
    fixture.bank.on(requests, { body: { 'transaction-requests': list } });
    const { data, errors } = await fixture.ask(RequestsWithIds);
    expect(errors).toBeUndefined();
    const nodes = data?.bank?.account?.transactionRequests?.nodes ?? [];
    expect(nodes.map((node) => node?.account?.label)).toEqual(Array(3).fill('A as owner'));
    expect(new Set(nodes.map((node) => node?.id)).size).toBe(3);
    for (const node of nodes) {
      fixture.bank.calls.length = 0;
      const { data } = await fixture.ask(RequestNode, { id: node?.id ?? '' });
      expect(data?.node).toEqual({ id: node?.id, status: node?.status, account: { accountId: 'A' } });
      expect(fixture.bank.lines()).toEqual([requests]);
    }
    fixture.bank.on(requests, { body: { 'transaction-requests': [] } });
    for (const node of nodes)
      expect(failuresOf(await fixture.ask(RequestNode, { id: node?.id ?? '' }))).toEqual(['node NOT_FOUND']);
  });

  test('is a node by its place where its resource_url is that of others too', async () => {
    await using fixture = await start();
    const list = ['first', 'second'].map((status) => ({ status, resource_url: '/requests' }));
    fixture.bank.on(requests, { body: { 'transaction-requests': list } });
    const { data } = await fixture.ask(RequestsWithIds);
    const ids = data?.bank?.account?.transactionRequests?.nodes?.map((node) => node?.id ?? '') ?? [];
    const again = await Promise.all(ids.map((id) => fixture.ask(RequestNode, { id })));
    expect(again.map(({ data }) => data?.node)).toMatchObject([
      { id: ids[0], status: 'first' },
      { id: ids[1], status: 'second' },
    ]);
  });

  test('of a payment’s answer is the one of the list only where the bank names it', async () => {
    await using fixture = await start();
    const put = 'PUT /v1/api/banks/BANK/accounts/A/owner/transaction-request-types/T/transaction-requests';
    const value = { amount: '5', currency: 'EUR' };
    const named = {
      status: 'INITIATED',
      resource_url: '/requests#1',
      body: { to: { account_id: 'B' }, value },
    };
    const another = { status: 'COMPLETED', body: { to: { account_id: 'C' }, value } };
    fixture.bank.on(put, { body: { 'transaction-requests': [named, another] } });
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ status: 'FAILED' }, named] } });
    const { data } = await fixture.ask(RequestPut, { key: 'k' });
    const [first, second] = data?.putTransactionRequest?.transactionRequests ?? [];
    fixture.bank.calls.length = 0;
    expect((await fixture.ask(RequestNode, { id: first?.id ?? '' })).data?.node).toMatchObject({
      status: 'INITIATED',
    });
    expect(fixture.bank.lines()).toEqual([requests]);
    expect(failuresOf(await fixture.ask(RequestNode, { id: second?.id ?? '' }))).toEqual(['node NOT_FOUND']);
    expect(fixture.bank.lines()).toEqual([requests, requests]);
  });
});

const others = `${account}/other_accounts`;

const LinkedAccount = graphql(`
  query LinkedAccount($viewId: ID) {
    bank {
      account(accountId: "A") {
        otherAccounts { nodes { bank { bankId } linkedAccount(viewId: $viewId) { accountId viewId label } } }
      }
    }
  }
`);

describe('a counterparty', () => {
  test('leads to its account where its bank is this one, through the same view or another', async () => {
    await using fixture = await start();
    fixture.bank.on(others, {
      body: {
        otherAccounts: [
          { bank: 'BANK', id: 'B' },
          { bank: 'The Bank', swift_bic: 'BANKXXX', id: 'C' },
          { bank: 'Another', swift_bic: 'ELSEBANK', id: 'D' },
          { bank: 'BANK' },
          { bank: 'BANK', id: '../x' },
        ],
      },
    });
    const result = await fixture.ask(LinkedAccount, {});
    const linked = result.data?.bank?.account?.otherAccounts?.nodes?.map(
      (node) => node?.linkedAccount?.label,
    );
    expect(linked).toEqual(['B as owner', 'C as owner', undefined, undefined, undefined]);
    expect(failuresOf(result)).toEqual([
      'bank.account.otherAccounts.nodes.4.linkedAccount BANK_BAD_RESPONSE',
    ]);
    expect(fixture.bank.lines()).toHaveLength(3);

    const { data } = await fixture.ask(LinkedAccount, { viewId: 'public' });
    expect(data?.bank?.account?.otherAccounts?.nodes?.[0]).toEqual({
      bank: { bankId: 'BANK' },
      linkedAccount: { accountId: 'B', viewId: 'public', label: 'B as public' },
    });
  });
});

const NamedCounterparty = graphql(`
  query NamedCounterparty($name: ID!) {
    bank { account(accountId: "A") { otherAccount(otherAccountId: $name) { id otherAccountId kind } } }
  }
`);

test('counterparties are looked for in the one list where a filter has no IBAN', async () => {
  await using fixture = await start();
  fixture.bank.on(others, {
    body: { otherAccounts: [{ bank: 'B', id: 'P1' }, { bank: 'B' }, { bank: 'B', id: 'P2' }] },
  });
  const idsOf = async (filter: string) => {
    const { data, errors } = await fixture.ask<
      { bank: { account: { otherAccounts: { nodes: unknown } } } },
      unknown
    >(
      `{ bank { account(accountId: "A") { otherAccounts(filter: ${filter}) { nodes { otherAccountId } } } } }`,
    );
    expect(errors).toBeUndefined();
    return data?.bank.account.otherAccounts.nodes;
  };
  expect(await idsOf('{ id: "P2" }')).toEqual([{ otherAccountId: 'P2' }]);
  expect(await idsOf('{ id: "P3" }')).toEqual([]);
  expect(await idsOf('{}')).toHaveLength(3);
  expect(fixture.bank.lines()).toEqual([others, others, others]);
});

describe('a counterparty is found', () => {
  const list = [
    { bank: 'B', id: 'P1', kind: 'by its id', IBAN: 'CY17 0020', number: '1' },
    { bank: 'B', id: 'P2', kind: 'by its IBAN', IBAN: 'GR16 0110 1250', number: '2' },
    { bank: 'B', kind: 'by its number', number: '42' },
    { bank: 'B', id: 'GR160110125O', kind: 'look-alike', IBAN: 'P1', number: '3' },
    { bank: 'B', id: 'P5', kind: 'one of two', IBAN: 'DE00', number: '7' },
    { bank: 'B', id: 'P6', kind: 'one of two', IBAN: 'DE00', number: '7' },
  ];
  const find = async (name: string) => {
    await using fixture = await start();
    fixture.bank.on(others, { body: { otherAccounts: list } });
    const result = await fixture.ask(NamedCounterparty, { name });
    expect(fixture.bank.lines()).toEqual([others]);
    return { found: result.data?.bank?.account?.otherAccount, failures: failuresOf(result) };
  };

  test.each([
    ['P1', 'by its id', 'P1'],
    ['GR1601101250', 'by its IBAN', 'P2'],
    ['gr16 0110 1250', 'by its IBAN', 'P2'],
    ['42', 'by its number', '42'],
  ])('%s %s', async (name, kind, otherAccountId) => {
    const { found, failures } = await find(name);
    expect(found).toMatchObject({ kind, otherAccountId });
    expect(failures).toEqual([]);
  });

  test('by its IBAN it is the node that it is in the list', async () => {
    expect((await find('GR1601101250')).found?.id).toBe((await find('P2')).found?.id);
  });

  test.each(['DE00', '7', 'nobody', ''])('not as %j, which several have or none', async (name) => {
    expect(await find(name)).toEqual({ found: null, failures: ['bank.account.otherAccount NOT_FOUND'] });
  });
});
