import { describe, expect, test } from 'vitest';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

const ViewerIds = graphql(`
  query ViewerIds { viewer { customer { bankId customerId } account { bankId accountId viewId } } }
`);

const WholeViewer = graphql(`
  query WholeViewer($first: Int) {
    viewer {
      customer { legalName }
      account { label }
      accounts(first: $first) { totalCount nodes { accountId viewId label } }
      messages(first: $first) { totalCount nodes { message } }
    }
  }
`);

const OwnCustomer = graphql(`
  query OwnCustomer($customerId: ID!, $bankId: ID) {
    bank(bankId: $bankId) {
      customer(customerId: $customerId) {
        customerId
        accounts { nodes { accountId label } }
        messages { nodes { message } }
      }
    }
  }
`);

const template = (text: string | null) => (text === null ? null : validateViewerTemplate(text));

/** bankql with a bank that has every record, and with these templates. */
async function start(customerId: string | null, accountId: string | null, bankId: string | null = 'BANK') {
  const viewer = { customerId: template(customerId), accountId: template(accountId) };
  const fixture = await startBankqlFixture({ defaults: { bankId, viewId: 'owner', viewer } });
  fixture.bank.otherwise(anyAnswer);
  return fixture;
}

const customer = 'GET /v1/api/banks/BANK/customers/the-caller';
const account = 'GET /v1/api/banks/BANK/accounts/the-caller-current/owner/views';
const accounts = 'GET /v1/api/banks/BANK/accounts/the-caller-current/owner/permissions';
const messages = 'GET /v1/api/banks/BANK/customer/messages';

describe('viewer', () => {
  test('has the ids that the templates make of the login, at the default bank and view, without a call', async () => {
    await using fixture = await start('{auth-id}', '{provider}-{auth-id}');
    expect(await fixture.ask(ViewerIds)).toEqual({
      data: {
        viewer: {
          customer: { bankId: 'BANK', customerId: 'the-caller' },
          account: { bankId: 'BANK', accountId: 'the-provider-the-caller', viewId: 'owner' },
        },
      },
    });
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('is also known at another bank, with the data of the caller there', async () => {
    await using fixture = await start('{auth-id}', '{auth-id}-current');
    const { data, errors } = await fixture.ask<object, object>(
      '{ viewer(bankId: "OTHER") { customer { bankId } messages { totalCount } accounts { totalCount } } }',
    );
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ viewer: { customer: { bankId: 'OTHER' } } });
    expect(fixture.bank.lines().sort()).toEqual([
      'GET /v1/api/banks/OTHER/accounts/the-caller-current/owner/permissions',
      'GET /v1/api/banks/OTHER/customer/messages',
    ]);
  });

  test('leads to the customer, the account, the accounts and the messages, with one call each', async () => {
    await using fixture = await start('{auth-id}', '{auth-id}-current');
    const result = await fixture.ask(WholeViewer, { first: 1 });
    const label = 'the-caller-current as owner';
    expect(result).toEqual({
      data: {
        viewer: {
          customer: { legalName: 'name of the-caller' },
          account: { label },
          accounts: { totalCount: 1, nodes: [{ accountId: 'the-caller-current', viewId: 'owner', label }] },
          messages: { totalCount: 1, nodes: [{ message: 'message' }] },
        },
      },
    });
    expect(fixture.bank.lines().sort()).toEqual([account, accounts, customer, messages].sort());
  });

  test('is different for each caller', async () => {
    await using fixture = await start('{auth-id}', null);
    const customerOf = async (caller: string) => {
      const { data } = await fixture.ask<{ viewer: { customer: object } }, object>(
        '{ viewer { customer { customerId } } }',
        {},
        { ...credentials, 'Auth-ID': caller },
      );
      return data?.viewer.customer;
    };
    expect(await Promise.all(['alice', 'bob'].map(customerOf))).toEqual([
      { customerId: 'alice' },
      { customerId: 'bob' },
    ]);
  });

  test('has an id for caches of clients, which depends on the login and the bank and is no node', async () => {
    await using fixture = await start('{auth-id}', null);
    const idOf = async (bankId: string | null, caller = 'alice') => {
      const headers = { ...credentials, 'Auth-ID': caller };
      const query = 'query ($bankId: ID) { viewer(bankId: $bankId) { id } }';
      return Object(await fixture.ask(query, { bankId }, headers)).data.viewer.id;
    };
    const own = await idOf(null);
    expect(await idOf('BANK')).toBe(own);
    expect(new Set([own, await idOf('OTHER'), await idOf(null, 'bob')]).size).toBe(3);
    const { errors } = await fixture.ask('query ($id: ID!) { node(id: $id) { id } }', { id: own });
    expect(errors).toMatchObject([
      {
        message: 'The `id` of the type Viewer is only for the caches of clients: `node` cannot read it.',
        extensions: { code: 'BAD_USER_INPUT' },
      },
    ]);
    expect(fixture.bank.calls).toEqual([]);
  });

  test('is null with the reason if the operator has set no template', async () => {
    await using fixture = await startBankqlFixture();
    const { data, errors } = await fixture.ask(ViewerIds);
    expect(data).toEqual({ viewer: null });
    expect(errors).toMatchObject([
      { message: expect.stringContaining('VIEWER_ACCOUNT_ID'), extensions: { code: 'BAD_USER_INPUT' } },
    ]);
  });

  test('is null with the reason if the request has no login', async () => {
    await using fixture = await start('{auth-id}', '{auth-id}-current');
    const { 'Auth-ID': _, ...others } = credentials;
    const { data, errors } = await fixture.ask(ViewerIds, {}, others);
    expect(data).toEqual({ viewer: null });
    expect(errors).toMatchObject([
      { message: expect.stringContaining('Auth-ID'), extensions: { code: 'MISSING_CREDENTIALS' } },
    ]);
  });

  test('is null with the reason if there is no default bank', async () => {
    await using fixture = await start('{auth-id}', null, null);
    expect(failuresOf(await fixture.ask(ViewerIds))).toEqual(['viewer BAD_USER_INPUT']);
  });

  test('fails only in the fields that need an account if only the customer is known', async () => {
    await using fixture = await start('{auth-id}', null);
    const result = await fixture.ask(WholeViewer, {});
    expect(result.data?.viewer).toMatchObject({
      customer: { legalName: 'name of the-caller' },
      account: null,
      accounts: null,
      messages: { totalCount: 1 },
    });
    expect(failuresOf(result)).toEqual(['viewer.account BAD_USER_INPUT', 'viewer.accounts BAD_USER_INPUT']);
    expect(fixture.bank.lines().sort()).toEqual([customer, messages].sort());
  });

  test.each(['..', 'a/b', 'a%2fb', 'a?b'])('makes no call with the login %s', async (login) => {
    await using fixture = await start('{auth-id}', '{auth-id}');
    const result = await fixture.ask(ViewerIds, {}, { ...credentials, 'Auth-ID': login });
    expect(failuresOf(result)).toEqual(['viewer BAD_USER_INPUT']);
    expect(fixture.bank.lines()).toEqual([]);
  });
});

describe("a customer's accounts and messages", () => {
  test('are answered if the customer is the viewer, with two calls', async () => {
    await using fixture = await start('{auth-id}', '{auth-id}-current');
    const result = await fixture.ask(OwnCustomer, { customerId: 'the-caller' });
    expect(result).toEqual({
      data: {
        bank: {
          customer: {
            customerId: 'the-caller',
            accounts: { nodes: [{ accountId: 'the-caller-current', label: 'the-caller-current as owner' }] },
            messages: { nodes: [{ message: 'message' }] },
          },
        },
      },
    });
    expect(fixture.bank.lines().sort()).toEqual([accounts, messages].sort());
  });

  test.each(['BANK', null])(
    'are those at the bank that the operation names, although the default is %s',
    async (bankId) => {
      await using fixture = await start('{auth-id}', '{auth-id}-current', bankId);
      const { data, errors } = await fixture.ask(OwnCustomer, { customerId: 'the-caller', bankId: 'B2' });
      expect(errors).toBeUndefined();
      expect(data?.bank?.customer?.accounts?.nodes).toMatchObject([{ accountId: 'the-caller-current' }]);
      expect(data?.bank?.customer?.messages?.nodes).toEqual([{ message: 'message' }]);
      const there = [accounts, messages].map((line) => line.replace('/BANK/', '/B2/'));
      expect(fixture.bank.lines().sort()).toEqual(there.sort());
    },
  );

  test.each([{ customerId: 'another' }, { customerId: 'another', bankId: 'B2' }])(
    'are not read for another customer: %o',
    async (variables) => {
      await using fixture = await start('{auth-id}', '{auth-id}-current');
      const result = await fixture.ask(OwnCustomer, variables);
      expect(failuresOf(result)).toEqual([
        'bank.customer.accounts BAD_USER_INPUT',
        'bank.customer.messages BAD_USER_INPUT',
      ]);
      expect(fixture.bank.lines()).toEqual([]);
    },
  );
});

describe('an account of a list', () => {
  const inList = (id: string, change: object = {}) => ({
    ...accountRecord,
    id,
    label: `${id} in the list`,
    ...change,
  });
  const list = 'GET /v1/api/banks/BANK/accounts/A/owner/permissions';
  const alone = (id: string, bank = 'BANK') => `GET /v1/api/banks/${bank}/accounts/${id}/owner/views`;
  const below = (id: string, path: string) => `GET /v1/api/banks/BANK/accounts/${id}/owner/${path}`;
  const three = ['transaction-requests', 'other_accounts', 'transactions/T/transaction'];

  async function startWith(...accounts: readonly object[]) {
    const fixture = await start(null, 'A');
    fixture.bank.on(list, { body: { accounts } });
    return {
      ...fixture,
      in: (selection: string) => fixture.ask(`{ viewer { accounts { nodes { ${selection} } } } }`),
    };
  }

  test('is the target of links back to it, without a call, with the values of the list', async () => {
    await using fixture = await startWith(inList('A'), inList('B', { swift_bic: null, balance: {} }));
    const shown = 'account { id label swiftBic balance { amount } }';
    const { data, errors } = await fixture.in(`${shown.slice(10, -2)}
      transactionRequests { nodes { ${shown} } } otherAccounts { nodes { ${shown} } }
      transaction(transactionId: "T") { uuid ${shown} } otherAccount(otherAccountId: "OTHER") { kind ${shown} }`);
    expect(errors).toBeUndefined();
    const nodes: Record<string, Record<string, unknown>>[] = Object(data).viewer.accounts.nodes;
    expect(nodes.map(({ label }) => label)).toEqual(['A in the list', 'B in the list']);
    for (const { transactionRequests, otherAccounts, transaction, otherAccount, ...account } of nodes) {
      expect(transactionRequests?.nodes).toEqual([{ account }]);
      expect(otherAccounts?.nodes).toEqual([{ account }]);
      expect([transaction?.account, otherAccount?.account]).toEqual([account, account]);
    }
    const calls = ['A', 'B'].flatMap((id) => three.map((path) => below(id, path)));
    expect(fixture.bank.lines().sort()).toEqual([...calls, list].sort());
  });

  test('is the target of its transactions’ links, without a call, in each list of transactions', async () => {
    await using fixture = await startWith(inList('A'));
    fixture.bank.on(below('A', 'transaction-requests'), {
      body: { 'transaction-requests': [{ transaction_ids: 'T', end_date: '2026-01-15T10:00:00Z' }] },
    });
    const transaction = 'transactionId account { label }';
    const { data, errors } = await fixture.in(`label
      transactionRequests { nodes { transactions { ${transaction} } } }
      knownTransactions { nodes { ${transaction} } edges { node { ${transaction} } } }`);
    expect(errors).toBeUndefined();
    const shown = { transactionId: 'T', account: { label: 'A in the list' } };
    expect(Object(data).viewer.accounts.nodes[0]).toMatchObject({
      transactionRequests: { nodes: [{ transactions: [shown] }] },
      knownTransactions: { nodes: [shown], edges: [{ node: shown }] },
    });
    expect(fixture.bank.lines()).toEqual([list, below('A', 'transaction-requests')]);
  });

  test('that shares its id with another is the target of its own links, not the other account', async () => {
    await using fixture = await startWith(inList('A', { label: 'one' }), inList('A', { label: 'two' }));
    const { data } = await fixture.in('id label otherAccounts { nodes { account { id label } } }');
    const nodes: { otherAccounts: object; label: string; id: string }[] = Object(data).viewer.accounts.nodes;
    expect(nodes.map(({ label }) => label)).toEqual(['one', 'two']);
    for (const { otherAccounts, ...account } of nodes)
      expect(otherAccounts).toEqual({ nodes: [{ account }] });
  });

  test('is read again for a link that names its id, because the list may not have all fields', async () => {
    await using fixture = await startWith(inList('A'), inList('B', { bank_id: 'B2' }));
    fixture.bank
      .on(below('A', three[0] ?? ''), { body: { 'transaction-requests': [{ from: { account_id: 'A' } }] } })
      .on(below('A', three[1] ?? ''), { body: { otherAccounts: [{ bank: 'BANK', id: 'A' }] } })
      .on(below('A', three[2] ?? ''), { body: { details: {} } });
    const { data, errors } = await fixture.in(`transactionRequests { nodes { from { account { label } } } }
      otherAccounts { nodes { linkedAccount { label } } }
      transaction(transactionId: "T") { account { label } }`);
    expect(errors).toBeUndefined();
    expect(Object(data).viewer.accounts.nodes[0]).toEqual({
      transactionRequests: { nodes: [{ from: { account: { label: 'A as owner' } } }] },
      otherAccounts: { nodes: [{ linkedAccount: { label: 'A as owner' } }] },
      transaction: { account: { label: 'A in the list' } },
    });
    expect(fixture.bank.lines()).toEqual(expect.arrayContaining([alone('A')]));
  });

  test('is read again after a write', async () => {
    await using fixture = await startWith(inList('A'));
    const put = `putAccount(input: { accountId: "A", account: { balance: {} } }) {
      account { label bank { accounts(accountId: "A") { nodes { view(viewId: "owner") { label } } } } }
    }`;
    await fixture.ask(`mutation { a: ${put} b: ${put} }`);
    const one = ['PUT /v1/api/banks/BANK/accounts/A', alone('A'), list];
    expect(fixture.bank.lines()).toEqual([...one, ...one]);
  });
});
