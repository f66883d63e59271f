import {
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
  isRequiredInputField,
} from 'graphql';
import { expect, test } from 'vitest';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, bankql, ask } = await shareBankqlFixture();

/** Ids that cannot be a segment of a path: some of id-corpus.ts, which test/bank/ids.test.ts tries in each path. */
const badIds = ['', '..', 'a/b', '%2e%2e', ' a', '\u202ea', '\ud800', 'x'.repeat(129)];

const query = (selection: string) => `query Q($id: ID!) { ${selection} }`;
const inBank = (selection: string) => query(`bank { ${selection} }`);
const inAccount = (selection: string) => inBank(`account(accountId: "A") { ${selection} }`);
type Place = readonly [name: string, document: string, path: string];

/** Arguments that are texts, but become segments of a path. */
const textSegments = ['metadataType', 'transactionRequestType'];

/** The places of ids in an input, at any depth. */
function placesIn(type: GraphQLInputType): string[][] {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return [];
  return Object.values(named.getFields()).flatMap(({ name, type }) =>
    String(getNamedType(type)) === 'ID' || textSegments.includes(name)
      ? [[name]]
      : placesIn(type).map((place) => [name, ...place]),
  );
}

/** An input as GraphQL text: its required members, one change if it has changes, and the variable `$id` at the given place. */
function literalOf(type: GraphQLInputType, place: readonly string[] | null): string {
  if (place?.length === 0) return isListType(getNullableType(type)) ? '[$id]' : '$id';
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return { Decimal: '1', Float: '1', Boolean: 'true' }[named.name] ?? '"x"';
  const fields = Object.values(named.getFields());
  const changed = named.name.endsWith('Changes')
    ? fields.find(({ type }) => String(type) === 'String')
    : null;
  const given = fields.filter(
    (field) => field.name === place?.[0] || field === changed || isRequiredInputField(field),
  );
  const values = given.map(
    ({ name, type }) => `${name}: ${literalOf(type, name === place?.[0] ? place.slice(1) : null)}`,
  );
  return `{ ${values.join(', ')} }`;
}

/** Each place of an id in the input of a mutation. */
const inputs = Object.values(schema.getMutationType()?.getFields() ?? {}).flatMap(({ name, args }) =>
  args.flatMap(({ type }) =>
    placesIn(type).map((place): Place => {
      const variable = `$id: ${textSegments.includes(place.at(-1) ?? '') ? 'String!' : 'ID!'}`;
      const document = `mutation M(${variable}) { ${name}(input: ${literalOf(type, place)}) { __typename } }`;
      return [[name, ...place].join('.'), document, name];
    }),
  ),
);

/**
 * Whether the id at a place becomes a segment of a path. The ids of a transfer's payee become segments only later, when the
 * payload leads to the payee's account, and it would be too late to refuse them.
 */
const isSegment = ([name]: Place) => name.split('.').length === 2 || name.startsWith('makeTransaction.to.');

/** Each argument that fills a path: its name, a document with it, and the field to which it belongs. */
const segments: readonly Place[] = [
  ['bank.bankId', query('bank(bankId: $id) { branches { totalCount } }'), 'bank'],
  ['bank.customer', inBank('customer(customerId: $id) { email }'), 'bank.customer'],
  ['bank.account', inBank('account(accountId: $id) { label }'), 'bank.account'],
  ['bank.account.viewId', inBank('account(accountId: "A", viewId: $id) { label }'), 'bank.account'],
  ['bank.accounts', inBank('accounts(accountId: $id) { totalCount }'), 'bank.accounts'],
  ['bank.accounts.viewId', inBank('accounts(accountId: "A", viewId: $id) { totalCount }'), 'bank.accounts'],
  ['bank.product', inBank('product(productId: $id) { name }'), 'bank.product'],
  ['account.transaction', inAccount('transaction(transactionId: $id) { uuid }'), 'bank.account.transaction'],
  ...inputs.filter(isSegment),
];

/** The other places for an id of the bank. */
const otherIds: readonly Place[] = [
  ['bank.branch', inBank('branch(branchId: $id) { name }'), 'bank.branch'],
  ['bank.branches', inBank('branches(filter: { id: $id }) { totalCount }'), 'bank.branches'],
  ['bank.products', inBank('products(filter: { id: $id }) { totalCount }'), 'bank.products'],
  ['metadata', query('metadata(id: $id) { totalCount }'), 'metadata'],
  [
    'account.otherAccount',
    inAccount('otherAccount(otherAccountId: $id) { kind }'),
    'bank.account.otherAccount',
  ],
  ...inputs.filter((place) => !isSegment(place)),
];

test.each(segments)(
  '%s refuses a text that cannot be part of a path, without a call and without repeating it',
  async (name, document, path) => {
    bank.otherwise(anyAnswer);
    // An empty bank id means the default bank.
    for (const id of badIds.filter((id) => id !== '' || !name.endsWith('bankId'))) {
      const result = await ask(document, { id });
      expect([id, failuresOf(result)]).toEqual([id, [`${path} BAD_USER_INPUT`]]);
      if (document.startsWith('mutation'))
        expect(result.errors?.[0]?.extensions.argument).toEqual(name.split('.').slice(1));
      if (id.length > 2) expect(result.errors?.[0]?.message).not.toContain(id);
    }
    expect(bank.lines().filter((line) => !line.endsWith('/accounts/A/owner/views'))).toEqual([]);
    expect(bankql.audit).toEqual([]);
  },
);

const account = encodeGlobalId('Account', '["BANK","A","owner"]');

test.each([...segments, ...otherIds])(
  '%s refuses a global id, and names the field that has the right id',
  async (_name, document, path) => {
    bank.otherwise(anyAnswer);
    const result = await ask(document, { id: account });
    expect(failuresOf(result)).toEqual([`${path} BAD_USER_INPUT`]);
    expect(result.errors?.[0]?.message).toMatch(/global `id` of the type Account.*`accountId`/);
    const sent = bank.lines().filter((line) => line.includes(account) || /^(PUT|POST)/.test(line));
    expect(sent).toEqual([]);
  },
);

test.each([...segments, ...otherIds])(
  '%s refuses a number whose digits JSON has lost, because it would be another id',
  async (_name, document) => {
    bank.otherwise(anyAnswer);
    for (const id of [2 ** 53, -(2 ** 53), 1e21])
      expect([id, failuresOf(await ask(document, { id }))]).toEqual([id, ['request BAD_USER_INPUT']]);
    expect(bank.calls).toEqual([]);
    expect(bankql.audit).toEqual([]);
  },
);

test('an id may be an integer whose digits JSON keeps, and any integer in the text of a document', async () => {
  bank.otherwise(anyAnswer);
  const given =
    '{ bank { branch(branchId: 9007199254740993) { name } customer(customerId: $id) { email } } }';
  await ask(`query ($id: ID!) ${given}`, { id: 2 ** 53 - 1 });
  expect(bank.lines().toSorted()).toEqual([
    'GET /v1/api/banks/BANK/branches',
    'GET /v1/api/banks/BANK/customers/9007199254740991',
  ]);
});

test('an invalid page is refused without a call, although its parent is read', async () => {
  bank.otherwise(anyAnswer);
  const result = await ask(
    '{ bank { account(accountId: "A") { label otherAccounts(first: -1) { totalCount } } } }',
  );
  expect(result.data).toEqual({ bank: { account: { label: 'A as owner', otherAccounts: null } } });
  expect(failuresOf(result)).toEqual(['bank.account.otherAccounts BAD_USER_INPUT']);
  expect(bank.lines()).toEqual(['GET /v1/api/banks/BANK/accounts/A/owner/views']);
});

/** The path to the invalid argument, for the forms of an app. */
test.each([
  ['{ bank(bankId: "a/b") { bankId branches { totalCount } } }', ['bankId']],
  ['{ bank { branches(first: -1) { totalCount } } }', ['first']],
  ['{ bank { branches(after: "x") { totalCount } } }', ['after']],
  [`{ bank { branches(search: "${'x'.repeat(256)}") { totalCount } } }`, ['search']],
  [
    `{ bank { account(accountId: "A") { otherAccounts(search: "${'x'.repeat(256)}") { totalCount } } } }`,
    ['search'],
  ],
  [
    '{ bank { branches(near: { latitude: 1, longitude: 0, radiusKm: -1 }) { totalCount } } }',
    ['near', 'radiusKm'],
  ],
  ['{ bank { branches(near: { latitude: 0, longitude: -180.5 }) { totalCount } } }', ['near', 'longitude']],
  ['{ bank { branches(near: { latitude: 91, longitude: 0 }) { totalCount } } }', ['near', 'latitude']],
  ['{ payments(first: 101) { nodes { id } } }', ['first']],
  ['mutation { updateCustomer(input: { customerId: "C", changes: {} }) { trackId } }', ['changes']],
  [
    'mutation { updateBranch(input: { branchId: "B", changes: { address: {}, location: {} } }) { trackId } }',
    ['changes'],
  ],
  [
    'mutation { annotateTransaction(input: { accountId: "A", transactionId: "T", changes: { tags: "a", where: "b" } }) { trackId } }',
    ['metadataType'],
  ],
  ...['["a,b"]', '["a", " "]'].map((tags): [string, string[]] => [
    `mutation { annotateTransaction(input: { accountId: "A", transactionId: "T", changes: { tags: ${tags} } }) { trackId } }`,
    ['changes', 'tags'],
  ]),
  ['mutation { putProduct(input: { product: { bankIds: [] } }) { trackId } }', ['product', 'bankIds']],
  [
    'mutation { putProduct(input: { product: { bankIds: ["A", "B"] } }) { trackId } }',
    ['product', 'bankIds'],
  ],
])('the error names the invalid argument: %s', async (document, argument) => {
  bank.otherwise(anyAnswer);
  const { errors } = await ask(document);
  expect(errors?.map(({ extensions }) => [extensions.code, extensions.argument])).toEqual([
    ['BAD_USER_INPUT', argument],
  ]);
  expect(bank.calls).toEqual([]);
});

test('an empty bank code counts as absent, from a client and from the bank', async () => {
  bank.otherwise(anyAnswer);
  const ofBank = (id: string) => ({ bank_id: id, account_id: 'TO' });
  bank.on('GET /v1/api/banks/BANK/accounts/A/owner/transaction-requests', {
    body: { 'transaction-requests': [{ body: { to: ofBank('') } }] },
  });
  bank.on('GET /v1/api/banks/BANK/customers/C', { body: { bank_id: ['', 'B2'] } });
  const { data, errors } = await ask(`{ viewer: bank(bankId: "") { bankId
    customer(customerId: "C") { banks { bankId } }
    account(accountId: "A") {
      transactionRequests { nodes { to { account { bankId accountId } } } }
    }
  } }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    viewer: {
      bankId: 'BANK',
      customer: { banks: [{ bankId: 'B2' }] },
      account: {
        transactionRequests: { nodes: [{ to: { account: { bankId: 'BANK', accountId: 'TO' } } }] },
      },
    },
  });
});

test.each([
  ['makeTransaction', 'value: { amount: 1 }'],
  ['putTransactionRequest', 'transactionRequestType: "T"'],
])('%s sends no empty bank code', async (field, more) => {
  bank.otherwise({ status: 201, body: {} });
  const input = `bankId: "", accountId: "A", to: { bankId: "", accountId: "TO" }, idempotencyKey: "${field}", ${more}`;
  const { data } = await ask(
    `mutation { ${field}(input: { ${input} }) { payment { state bankId to { account { bankId accountId } } } } }`,
  );
  expect(data).toEqual({
    [field]: {
      payment: {
        state: expect.any(String),
        bankId: 'BANK',
        to: { account: { bankId: 'BANK', accountId: 'TO' } },
      },
    },
  });
  const [sent] = bank.calls.filter(({ method }) => method !== 'GET');
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({ to: { account_id: 'TO' } });
  expect(sent?.body).not.toContain('""');
  expect(sent?.path).toContain('/banks/BANK/accounts/A/');
});
