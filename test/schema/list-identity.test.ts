import { describe, expect, test } from 'vitest';
import { bankLine, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

/**
 * Entries of lists without an id, or with a repeated one: their content identifies them. Clients never take two for one, and `node`
 * finds each of them again, wherever it stands in the list.
 */

const root = '/v1/api/banks/BANK';
const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL' };
const inAccount = (list: string) => `bank { account(accountId: "A") { ${list} } }`;

/** Types of entries: a query that lists them, the field of their own id, the list that \`node\` reads, and where its answer has them. */
const types = [
  [
    'MetadataEntry',
    '{ metadata(id: "M") { nodes { id own: metadataId name: code } } }',
    'POST /v1/api/metadata',
    'metadata',
  ],
  ['Branch', '{ bank { branches { nodes { id own: branchId name } } } }', 'GET /branches', 'branches'],
  [
    'Branch',
    '{ bank { branches(search: "o") { nodes { id own: branchId name } } } }',
    'GET /branches',
    'branches',
  ],
  [
    'Branch',
    '{ bank { branches(filter: { id: "Q" }) { nodes { id own: branchId name } } } }',
    'GET /branches',
    'branches',
  ],
  [
    'Product',
    '{ bank { products(filter: { id: "Q" }) { nodes { id own: productId name } } } }',
    'POST /products',
    'product',
  ],
  [
    'OtherAccount',
    `{ ${inAccount('otherAccounts { nodes { id own: otherAccountId name: kind } }')} }`,
    'GET /accounts/A/owner/other_accounts',
    'otherAccounts',
  ],
  [
    'OtherAccount',
    `{ ${inAccount('otherAccounts(filter: { iban: "I" }) { nodes { id own: otherAccountId name: kind } }')} }`,
    'GET /accounts/A/owner/other_accounts',
    'otherAccounts',
  ],
  [
    'TransactionRequest',
    `{ ${inAccount('transactionRequests { nodes { id own: resourceUrl name: description } }')} }`,
    'GET /accounts/A/owner/transaction-requests',
    'transaction-requests',
  ],
] as const;

type Ids = readonly (string | null | undefined)[];

/** Answers of lists whose entries have these ids, and a name that tells them apart. */
const listOf =
  (ids: Ids, names = ids.map((_, index) => `one of ${index}`)) =>
  ({ path }: RecordedCall) => {
    const entries = ids.map((id, index) => {
      const name = names[index];
      const own = { id, resource_url: id };
      return { ...own, name, kind: name, code: name, description: name, bank: 'b', acceptsDeposits: true };
    });
    const lists = types.map(([, , call, at]) => [bankLine(call).split(' ')[1], at] as const);
    const at = lists.find(([list]) => list === path)?.[1] ?? '';
    return { body: { [at]: entries } };
  };

interface Entry {
  readonly id: string;
  readonly own: string | null;
  readonly name: string;
}

const entriesIn = (data: unknown): Entry[] =>
  typeof data !== 'object' || data === null
    ? []
    : Object.hasOwn(data, 'nodes')
      ? Reflect.get(data, 'nodes')
      : Object.values(data).flatMap(entriesIn);

/** Asks for an entry by its global id, with the fields that the list's query selects. */
const nodeQuery = (type: string, document: string) =>
  `query Node($id: ID!) { node(id: $id) { ... on ${type} { ${/nodes \{ (.*?) \}/.exec(document)?.[1]} } } }`;

describe.each(types)('entries of a %s list, asked for by %s', (type, document, call) => {
  test('that share an id or have none are found again by their content, after the bank has sorted its list', async () => {
    await using fixture = await startBankqlFixture({ defaults });
    const ids = ['x', 'y', 'x', null, undefined, ''];
    const names = ['one', 'two', 'three o', 'four', 'five o', 'six o'];
    fixture.bank.otherwise(listOf(ids, names));
    const entries = entriesIn((await fixture.ask(document)).data);
    expect(entries.length).toBeGreaterThan(3);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);

    fixture.bank.otherwise(listOf(['new', ...ids.toReversed()], ['new', ...names.toReversed()]));
    for (const entry of entries) {
      fixture.bank.calls.length = 0;
      expect(Buffer.from(entry.id, 'base64url').toString()).toMatch(new RegExp(`^${type}:`));
      if (type === 'Product' && entry.own === 'y') continue;
      expect(await fixture.ask(nodeQuery(type, document), { id: entry.id })).toEqual({
        data: { node: entry },
      });
      expect(fixture.bank.lines()).toEqual([bankLine(call)]);
    }
  });

  test('with the same content are one object to clients', async () => {
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise(listOf(['x', 'x'], ['o', 'o']));
    const entries = entriesIn((await fixture.ask(document)).data);
    expect(entries).toHaveLength(2);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(1);
  });

  test('without an id are NOT_FOUND after the bank has changed them', async () => {
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise(listOf([null]));
    const [entry] = entriesIn((await fixture.ask(document)).data);
    fixture.bank.otherwise(listOf([null], ['another']));
    const result = await fixture.ask(nodeQuery(type, document), { id: entry?.id });
    expect(result.data).toEqual({ node: null });
    expect(failuresOf(result)).toEqual(['node NOT_FOUND']);
  });

  test('with an id of their own keep their global id in a longer list', async () => {
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise(listOf(['x', 'y'], ['o', 'oo']));
    const [first] = entriesIn((await fixture.ask(document)).data);
    expect(Buffer.from(first?.id ?? '', 'base64url').toString()).toMatch(/,"x"\]$/);
    fixture.bank.otherwise(listOf(['y', 'z', 'x'], ['oo', 'ooo', 'changed o']));
    expect(entriesIn((await fixture.ask(document)).data).at(-1)?.id).toBe(first?.id);
  });
});

test('an entry whose broken values only the Track-ID of their errors tells apart keeps its global id', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(() => ({ body: { otherAccounts: [{ bank: 'b', kind: {} }] } }));
  const ask = () => fixture.ask(`{ ${inAccount('otherAccounts { nodes { id kind } }')} }`);
  const [one, other] = [await ask(), await ask()];
  expect(failuresOf(one)).toEqual(['bank.account.otherAccounts.nodes.0.kind BANK_BAD_RESPONSE']);
  expect(entriesIn(one.data)[0]?.id).toBeDefined();
  expect(other.data).toEqual(one.data);
});

test('a product without an id is NOT_FOUND if no id is configured under which the bank lists all products', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(listOf([null]));
  const [entry] = entriesIn(
    (await fixture.ask('{ bank { products(filter: { id: "Q" }) { nodes { id } } } }')).data,
  );
  fixture.bank.calls.length = 0;
  const result = await fixture.ask('query Q($id: ID!) { node(id: $id) { id } }', { id: entry?.id });
  expect(failuresOf(result)).toEqual(['node NOT_FOUND']);
  expect(result.errors?.[0]?.message).toContain('BANK_ALL_PRODUCTS_ID');
  expect(fixture.bank.calls).toEqual([]);
});

describe('accounts', () => {
  const accounts = (
    ...entries: readonly (readonly [id: string | null, label: string, amount: number])[]
  ) => ({
    body: {
      accounts: entries.map(([id, label, amount]) => ({
        ...accountRecord,
        id,
        bank_id: null,
        label,
        balance: { currency: 'EUR', amount },
      })),
    },
  });
  const list = (scope: string, selection: string) =>
    `{ bank { accounts(accountId: "A", scope: ${scope}) { nodes { ${selection} } } } }`;
  const shown = 'id label balance { amount }';

  test.each([
    ['PERMISSIONS', 'permissions'],
    ['VIEWS', 'views'],
  ])(
    'that share an id, or have none, keep their own balances in the cache of a client (%s)',
    async (scope, path) => {
      await using fixture = await startBankqlFixture();
      const entries = [
        ['X', 'first', 1],
        ['X', 'second', 2],
        [null, 'third', 3],
        ['Y', 'fourth', 4],
      ] as const;
      fixture.bank.on(`GET ${root}/accounts/A/owner/${path}`, accounts(...entries));
      const { data, errors } = await fixture.ask(list(scope, shown));
      expect(errors).toBeUndefined();
      const nodes = entriesIn(data);
      expect(new Set(nodes.map(({ id }) => id)).size).toBe(4);
      expect(Buffer.from(nodes[3]?.id ?? '', 'base64url').toString()).toBe('Account:["BANK","Y","owner"]');

      fixture.bank.on(`GET ${root}/accounts/A/owner/${path}`, accounts(...entries.toReversed()));
      for (const node of nodes.slice(0, 3))
        expect(
          await fixture.ask(`query Q($id: ID!) { node(id: $id) { ... on Account { ${shown} } } }`, {
            id: node.id,
          }),
        ).toEqual({ data: { node } });
      const changed = await fixture.ask(
        `query Q($id: ID!) { node(id: $id) { ... on Account { accountId transaction(transactionId: "T") { transactionId } } } }`,
        { id: nodes[1]?.id },
      );
      expect(changed.data).toEqual({ node: { accountId: 'X', transaction: { transactionId: 'T' } } });
    },
  );

  test('without an id among several have none to act on: fields that need it fail, and nothing is asked for by the path’s', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(`GET ${root}/accounts/A/owner/views`, accounts([null, 'one', 1], [null, 'two', 2]));
    const selection = `label transaction(transactionId: "T") { uuid } otherAccounts { totalCount } knownTransactions { totalCount }`;
    const result = await fixture.ask(list('VIEWS', selection));
    const failed = { transaction: null, otherAccounts: null, knownTransactions: null };
    expect(entriesIn(result.data)).toEqual([
      { label: 'one', ...failed },
      { label: 'two', ...failed },
    ]);
    expect(new Set(failuresOf(result).map((line) => line.split(' ')[1]))).toEqual(
      new Set(['BANK_BAD_RESPONSE']),
    );
    expect(failuresOf(result)).toHaveLength(6);
    expect(fixture.bank.lines()).toEqual([`GET ${root}/accounts/A/owner/views`]);
    const withIds = await fixture.ask(list('VIEWS', 'label accountId'));
    expect(entriesIn(withIds.data)).toEqual([null, null]);
    expect(failuresOf(withIds)).toEqual([
      'bank.accounts.nodes.0.accountId BANK_BAD_RESPONSE',
      'bank.accounts.nodes.1.accountId BANK_BAD_RESPONSE',
    ]);
  });

  test('that are alone without an id are the path’s', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(`GET ${root}/accounts/A/owner/views`, accounts([null, 'only', 1]));
    const { data } = await fixture.ask(list('VIEWS', 'id label accountId'));
    const id = Buffer.from('Account:["BANK","A","owner"]').toString('base64url');
    expect(entriesIn(data)).toEqual([{ id, label: 'only', accountId: 'A' }]);
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
    return {
      nodes: Object(data).bank.accounts.nodes as readonly { id: string; bankId: string; label: string }[],
      lines,
    };
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
