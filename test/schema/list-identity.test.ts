import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Account } from '../../src/schema/account.ts';
import { Branch } from '../../src/schema/branch.ts';
import '../../src/schema/schema.ts';
import { bankLine, failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

/**
 * The lists of all record types. Entries without an id, or with a repeated one, are identified by their content. Clients never
 * confuse two of them, and `node` finds each of them again, at any position of the list.
 */

const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL' };
const { bank, ask } = await shareBankqlFixture({ defaults });

/** A list: its key in the answer, its query, the selection of an entry, and the list that `node` reads. */
type List = readonly [key: string, query: string, fields: string, call?: string];

const branch = 'id own: branchId name';
const other = 'id own: otherAccountId name: kind';
const lists: readonly List[] = [
  ['metadata', 'metadata(id: "M" PAGE) NODES', 'id own: metadataId name: code', 'POST /v1/api/metadata'],
  ['branches', 'bank { branches(PAGE) NODES }', branch, 'GET /branches'],
  ['branches', 'bank { branches(search: "o" PAGE) NODES }', branch, 'GET /branches'],
  ['branches', 'bank { branches(filter: { id: "Q" } PAGE) NODES }', branch, 'GET /branches'],
  [
    'product',
    'bank { products(filter: { id: "Q" } PAGE) NODES }',
    'id own: productId name',
    'POST /products',
  ],
  [
    'otherAccounts',
    'bank { account(accountId: "A") { otherAccounts(PAGE) NODES } }',
    other,
    'GET /accounts/A/owner/other_accounts',
  ],
  [
    'otherAccounts',
    'bank { account(accountId: "A") { otherAccounts(filter: { iban: "I" } PAGE) NODES } }',
    other,
    'GET /accounts/A/owner/other_accounts',
  ],
  [
    'transaction-requests',
    'bank { account(accountId: "A") { transactionRequests(PAGE) NODES } }',
    'id own: resourceUrl name: description',
    'GET /accounts/A/owner/transaction-requests',
  ],
  // These two lists have their own tests below.
  ['accounts', 'bank { accounts(accountId: "ACC" PAGE) NODES }', 'label'],
  ['messages', 'bank { messages(PAGE) NODES }', 'date'],
];

const typeOf: Readonly<Record<string, string>> = {
  metadata: 'MetadataEntry',
  branches: 'Branch',
  product: 'Product',
  otherAccounts: 'OtherAccount',
  'transaction-requests': 'TransactionRequest',
};

const documentOf = ([, query, fields]: List, page = 'first: 100') =>
  `{ ${query.replace('PAGE', page).replace('NODES', `{ totalCount nodes { ${fields} } }`)} }`;

interface Entry {
  readonly id: string;
  readonly own: string | null;
  readonly name: string;
}

/** The connection in an answer. */
const connectionIn = (data: unknown): { totalCount: number; nodes: Entry[] } =>
  Object.hasOwn(Object(data), 'nodes') ? Object(data) : connectionIn(Object.values(Object(data))[0]);

const named = lists.map((list) => [list[0], list[1], list] as const);

describe.each(named.filter(([, query]) => !query.includes('search')))(
  'a list of %s: %s',
  (key, query, list) => {
    const at = query
      .replaceAll(/\([^)]*\)|NODES/g, '')
      .match(/\w+/g)
      ?.join('.');

    test('has null at the position of an entry that is no object', async () => {
      const whole = { acceptsDeposits: true, balance: {}, bank: 'b', code: 'c' };
      bank.otherwise({ body: { [key]: [whole, null, 'text', whole, 7, [], whole] } });
      const result = await ask(documentOf(list).replace(/ own: \w+|id /g, ''));
      const nodes = [expect.anything(), null, null, expect.anything(), null, null, expect.anything()];
      expect(connectionIn(result.data)).toEqual({ totalCount: 7, nodes });
      expect(failuresOf(result)).toEqual(
        [1, 2, 4, 5].map((index) => `${at}.nodes.${index} BANK_BAD_RESPONSE`),
      );
    });

    test('is refused without a call for a negative count or an invalid cursor', async () => {
      const cursors = ['nothing', 'YXQ6LTE', 'YXQ6MXg', 'at:1'].map((cursor) => `after: "${cursor}"`);
      for (const page of ['first: -1', 'last: -2147483648', 'before: "YXQ6LTE"', ...cursors])
        expect([page, failuresOf(await ask(documentOf(list, page)))]).toEqual([
          page,
          [`${at} BAD_USER_INPUT`],
        ]);
      expect(bank.lines()).toEqual([]);
    });
  },
);

type Ids = readonly (string | null | undefined)[];

/** Answers with all lists. Their entries have these ids, and different names. */
const listOf =
  (ids: Ids, names = ids.map((_, index) => `one of ${index}`)) =>
  ({ path }: RecordedCall) => {
    const entries = ids.map((id, index) => {
      const name = names[index];
      const own = { id, resource_url: id };
      return { ...own, name, kind: name, code: name, description: name, bank: 'b', acceptsDeposits: true };
    });
    const [key = ''] = lists.find(([, , , call = '']) => bankLine(call).split(' ')[1] === path) ?? [];
    return { body: { [key]: entries } };
  };

/** Queries an entry by its global id, with the fields that the list's query selects. */
const nodeOf = ([key, , fields]: List, id?: string) =>
  ask(`query Node($id: ID!) { node(id: $id) { ... on ${typeOf[key]} { ${fields} } } }`, { id });

const textOf = (id = '') => Buffer.from(id, 'base64url').toString();

describe.each(named.slice(0, -2))('entries of %s, asked for by %s', (key, _query, list) => {
  const [, , , call = ''] = list;
  const entries = async () => connectionIn((await ask(documentOf(list))).data).nodes;

  test('that share an id or have none are found again by their content after the bank has sorted its list', async () => {
    const ids = ['x', 'y', 'x', null, undefined, ''];
    const names = ['one', 'two', 'three o', 'four', 'five o', 'six o'];
    bank.otherwise(listOf(ids, names));
    const found = await entries();
    expect(found.length).toBeGreaterThan(3);
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);

    bank.otherwise(listOf(['new', ...ids.toReversed()], ['new', ...names.toReversed()]));
    for (const entry of found) {
      bank.calls.length = 0;
      expect(textOf(entry.id)).toMatch(new RegExp(`^${typeOf[key]}:`));
      if (key === 'product' && entry.own === 'y') continue;
      expect(await nodeOf(list, entry.id)).toEqual({ data: { node: entry } });
      expect(bank.lines()).toEqual([bankLine(call)]);
    }
  });

  test('with the same content are one object to clients', async () => {
    bank.otherwise(listOf(['x', 'x'], ['o', 'o']));
    const [one, same, ...more] = await entries();
    expect([one?.id, more]).toEqual([same?.id, []]);
  });

  test('without an id are NOT_FOUND after the bank has changed them', async () => {
    bank.otherwise(listOf([null]));
    const [entry] = await entries();
    bank.otherwise(listOf([null], ['another']));
    const result = await nodeOf(list, entry?.id);
    expect(result.data).toEqual({ node: null });
    expect(failuresOf(result)).toEqual(['node NOT_FOUND']);
  });

  test('with an id of their own keep their global id in a longer list', async () => {
    bank.otherwise(listOf(['x', 'y'], ['o', 'oo']));
    const [first] = await entries();
    expect(textOf(first?.id)).toMatch(/,"x"\]$/);
    bank.otherwise(listOf(['y', 'z', 'x'], ['oo', 'ooo', 'changed o']));
    expect((await entries()).at(-1)?.id).toBe(first?.id);
  });
});

test('the search for an id finds all entries with it, in the order of the list, for random lists', () => {
  const id = fc.constantFrom('a', 'b', 'A', '', '0', '__proto__', 'constructor');
  const broken = fc.constant(new Error('broken'));
  const entry = fc.oneof(fc.record({ id: fc.oneof(id, fc.constant(null), broken) }), fc.constant({}), broken);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40, size: 'max' }), id, (entries, branchId) => {
      const list = entries as unknown as Parameters<typeof Branch.entriesWith>[0];
      const found = branchId === '' ? [] : list.filter((each) => Reflect.get(each, 'id') === branchId);
      expect(Branch.entriesWith(list, { bankId: 'BANK', branchId })).toEqual(found);
    }),
    { numRuns: 300 },
  );
});

test('an entry with a broken value keeps its global id, although the Track-ID in its error changes', async () => {
  bank.otherwise({ body: { otherAccounts: [{ bank: 'b', kind: {} }] } });
  const query = '{ bank { account(accountId: "A") { otherAccounts { nodes { id kind } } } } }';
  const [one, another] = [await ask(query), await ask(query)];
  expect(failuresOf(one)).toEqual(['bank.account.otherAccounts.nodes.0.kind BANK_BAD_RESPONSE']);
  expect(connectionIn(one.data).nodes[0]?.id).toBeDefined();
  expect(another.data).toEqual(one.data);
});

test('a product without an id is NOT_FOUND by its global id if BANK_ALL_PRODUCTS_ID is not set', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(listOf([null]));
  const query = '{ bank { products(filter: { id: "Q" }) { nodes { id } } } }';
  const [entry] = connectionIn((await fixture.ask(query)).data).nodes;
  fixture.bank.calls.length = 0;
  const result = await fixture.ask('query Q($id: ID!) { node(id: $id) { id } }', { id: entry?.id });
  expect(failuresOf(result)).toEqual(['node NOT_FOUND']);
  expect(result.errors?.[0]?.message).toContain('BANK_ALL_PRODUCTS_ID');
  expect(fixture.bank.calls).toEqual([]);
});

test('the id of a message depends only on its content', async () => {
  const messages = [
    { message: 'm', date: '1', unknown: Math.PI },
    { message: 'm', date: '2' },
    { message: 'm', from_person: 'p', date: '1' },
  ];
  const idsOf = async (list: readonly object[]) => {
    bank.otherwise({ body: { messages: list } });
    return connectionIn((await ask('{ bank { messages { nodes { id } } } }')).data).nodes.map(({ id }) => id);
  };
  const ids = await idsOf(messages);
  expect(new Set(ids).size).toBe(3);
  expect(await idsOf(messages.toReversed())).toEqual(ids.toReversed());

  const again = () =>
    ask('query ($id: ID!) { node(id: $id) { ... on Message { id date } } }', { id: ids[1] });
  expect(await again()).toEqual({ data: { node: { id: ids[1], date: '2' } } });
  bank.otherwise({ body: { messages: messages.toSpliced(1, 1) } });
  expect(failuresOf(await again())).toEqual(['node NOT_FOUND']);
});

describe('accounts', () => {
  const views = 'GET /v1/api/banks/BANK/accounts/A/owner/views';
  const permissions = views.replace('views', 'permissions');
  const accountOf = (id: unknown, label: string, bank_id: string | null = null) => ({
    ...accountRecord,
    id,
    label,
    bank_id,
  });
  async function list(selection: string, ...accounts: object[]) {
    bank.otherwise(({ path }) => ({ body: { uuid: path } })).on(permissions, { body: { accounts } });
    const result = await ask(`{ bank { accounts(accountId: "A") { totalCount nodes { ${selection} } } } }`);
    return { ...result, nodes: connectionIn(result.data).nodes as unknown[], failures: failuresOf(result) };
  }

  test.each([
    ['permissions', (shown: string) => `accounts(accountId: "A") { nodes { ${shown} } }`],
    ['views', (shown: string) => `account(accountId: "A") { nodes: views { ${shown} } }`],
  ])(
    'that share an id, or have none, keep their own balances in the cache of a client (%s)',
    async (scope, field) => {
      const path = views.replace('views', scope);
      const accounts = [
        ['X', '1'],
        ['X', '2'],
        [null, '3'],
        ['Y', '4'],
      ].map(([id, amount]) => ({
        ...accountOf(id, `with ${amount}`),
        balance: { currency: 'EUR', amount },
      }));
      const shown = 'id label balance { amount }';
      bank.on(path, { body: { accounts } });
      const { nodes } = connectionIn((await ask(`{ bank { ${field(shown)} } }`)).data);
      expect(new Set(nodes.map(({ id }) => id)).size).toBe(4);
      expect(textOf(nodes[3]?.id)).toBe('Account:["BANK","Y","owner"]');

      bank.on(path, { body: { accounts: accounts.toReversed() } });
      const nodeWith = (selection: string, id?: string) =>
        ask(`query Q($id: ID!) { node(id: $id) { ... on Account { ${selection} } } }`, { id });
      for (const node of nodes.slice(0, 3))
        expect(await nodeWith(shown, node.id)).toEqual({ data: { node } });
      const linked = 'accountId transaction(transactionId: "T") { transactionId }';
      expect((await nodeWith(linked, nodes[1]?.id)).data).toEqual({
        node: { accountId: 'X', transaction: { transactionId: 'T' } },
      });
    },
  );

  test('without an id among several fail in the fields that need an id, and the id of the path is not used for them', async () => {
    const links = [
      'transaction(transactionId: "T") { uuid }',
      'otherAccounts { totalCount }',
      'knownTransactions { totalCount }',
    ];
    const { nodes, failures, errors } = await list(
      `label ${links.join(' ')}`,
      accountOf(null, 'one'),
      accountOf(null, 'two'),
    );
    const failed = { transaction: null, otherAccounts: null, knownTransactions: null };
    expect(nodes).toEqual([
      { label: 'one', ...failed },
      { label: 'two', ...failed },
    ]);
    expect(failures.map((line) => line.split(' ')[1])).toEqual(Array(6).fill('BANK_BAD_RESPONSE'));
    expect(errors?.[0]?.message).toMatch(/gives it no id: .* Select only what the list shows of it, /);
    expect(bank.lines()).toEqual([permissions]);
  });

  test('without an id that are alone have the id of the path', async () => {
    const id = Buffer.from('Account:["BANK","A","owner"]').toString('base64url');
    const { nodes } = await list('id label accountId', accountOf(null, 'only'));
    expect(nodes).toEqual([{ id, label: 'only', accountId: 'A' }]);
  });

  test('whose id breaks the contract do not get the id of the path', async () => {
    const other = accountOf(true, "another account's");
    const { nodes, failures } = await list('accountId label', accountOf('A', 'l'), other);
    expect(nodes).toEqual([{ accountId: 'A', label: 'l' }, null]);
    expect(failures).toEqual(['bank.accounts.nodes.1 BANK_BAD_RESPONSE']);
    bank.on(views, { body: { accounts: [other] } });
    const one = await ask('{ bank { account(accountId: "A") { label } } }');
    expect(one.data).toEqual({ bank: { account: null } });
    expect(one.errors).toHaveLength(1);
  });

  const linked = 'id bankId accountId label transaction(transactionId: "T") { uuid }';
  const linesOf = (...accounts: string[]) =>
    accounts.map((path) => `GET /v1/api/banks/${path}/owner/transactions/T/transaction`).sort();

  test('of other banks have the id of that bank, and their fields are read there', async () => {
    const { nodes, errors } = await list(
      linked,
      accountOf('A', 'own', 'BANKXXX'),
      accountOf('A', 'foreign', 'OTHER'),
      accountOf('B', 'another', 'OTHER'),
      accountOf('C', 'unnamed'),
    );
    expect(errors).toBeUndefined();
    expect(nodes).toMatchObject([
      { bankId: 'BANK', label: 'own' },
      { bankId: 'OTHER', label: 'foreign' },
      { bankId: 'OTHER', label: 'another' },
      { bankId: 'BANK', label: 'unnamed' },
    ]);
    expect(new Set(nodes.map((node) => Object(node).id)).size).toBe(4);
    expect(bank.lines().slice(1).sort()).toEqual(
      linesOf('BANK/accounts/A', 'OTHER/accounts/A', 'OTHER/accounts/B', 'BANK/accounts/C'),
    );
  });

  test('all belong to the bank of the path if no entry names it, because its code differs in records', async () => {
    const { nodes } = await list(linked, accountOf('A', 'one', '0042'), accountOf('B', 'two', '0042'));
    expect(nodes).toMatchObject([{ bankId: 'BANK' }, { bankId: 'BANK' }]);
    expect(bank.lines().slice(1).sort()).toEqual(linesOf('BANK/accounts/A', 'BANK/accounts/B'));
  });

  test('of another bank are told apart from an entry with the same id that names no bank', async () => {
    const { nodes } = await list(
      'id',
      accountOf('A', 'own', 'BANK'),
      accountOf('F', 'foreign', 'OTHER'),
      accountOf('F', 'unnamed'),
    );
    expect(nodes.map((node) => textOf(Object(node).id))).toEqual([
      'Account:["BANK","A","owner"]',
      'Account:["OTHER","F","owner"]',
      'Account:["BANK","F","owner"]',
    ]);
  });

  test.each(['unique', 'repeated'])('are told apart once for a list, however long it is (%s)', (ids) => {
    let reads = 0;
    const accounts = Array.from({ length: 100 }, (_, at) => ({
      ...accountOf(ids === 'unique' ? `A${at}` : 'A', `${at}`),
      get bank_id() {
        reads++;
        return 'OTHER';
      },
    }));
    const path = { bankId: 'BANK', accountId: 'A', viewId: 'owner', scope: 'views' as const };
    const made = accounts.map(Account.nodesIn(accounts as never, path) as (record: object) => never);
    expect(new Set(made.map((node) => Account.globalIdOf(node))).size).toBe(100);
    // Entries are read to find out whether one names this bank (once for the nodes, and once for their ids), and for the ids
    // and the content of each node.
    expect(reads).toBeLessThanOrEqual(600);
  });
});
