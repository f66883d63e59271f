import { describe, expect, test } from 'vitest';
import {
  failuresOf,
  onlyCall,
  sentJson,
  shareBankqlFixture,
  startBankqlFixture,
} from '../support/bankql-fixture.ts';
import { branchRecord } from '../support/full-records.ts';
import { branchOf } from '../support/records.ts';

/** For each filter of a list, the call that finds the records at the bank, and its body. */

const { bank, ask } = await shareBankqlFixture();

const branches = 'GET /v1/api/banks/BANK/branches';
const others = 'GET /v1/api/banks/BANK/accounts/A/owner/other_accounts';
const inAccount = (selection: string) => `bank { account(accountId: "A") { ${selection} } }`;

describe('a filter of the bank', () => {
  const lists = {
    BranchFilter: [
      'branches',
      'bank(bankId: "B2") { list: branches(filter: $filter) { totalCount } }',
      'B2/branches',
    ],
    ProductFilter: [
      'product',
      'bank(bankId: "B2") { list: products(filter: $filter) { totalCount } }',
      'B2/products',
    ],
    OtherAccountFilter: [
      'otherAccounts',
      'bank { account(accountId: "A", viewId: "V") { list: otherAccounts(filter: $filter) { totalCount } } }',
      'BANK/accounts/A/V/other_accounts',
    ],
  } as const;
  const iban = ' gr16 0110 1250\t0000 0001 2300 695 ';

  test.each([
    ['BranchFilter', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['BranchFilter', { id: 'Q' }, '{"id":"Q"}'],
    ['BranchFilter', { id: 'Q', name: null }, '{"id":"Q"}'],
    ['ProductFilter', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['ProductFilter', { id: 'Q', name: null }, '{"id":"Q"}'],
    ['OtherAccountFilter', { iban }, '{"IBAN":"GR1601101250000000012300695"}'],
    ['OtherAccountFilter', { iban: 'I', id: 'Q' }, '{"IBAN":"I","id":"Q"}'],
    ['OtherAccountFilter', { iban: 'I', id: null }, '{"IBAN":"I"}'],
  ] as const)('%s %j is sent as %s', async (type, filter, body) => {
    const [key, selection, path] = lists[type];
    bank.on(`POST /v1/api/banks/${path}`, { body: { [key]: [branchOf({ bank: 'b' })] } });
    const { data, errors } = await ask(`query ($filter: ${type}!) { ${selection} }`, { filter });
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).toContain('"list":{"totalCount":1}');
    expect(onlyCall(bank).body).toBe(body);
  });

  test('that is null returns the whole list', async () => {
    bank.on(branches, { body: { branches: [] } });
    expect(await ask('{ bank { branches(filter: null) { totalCount } } }')).toEqual({
      data: { bank: { branches: { totalCount: 0 } } },
    });
  });

  test('of counterparties without an IBAN searches the list of all', async () => {
    bank.on(others, { body: { otherAccounts: ['P1', null, 'P2'].map((id) => ({ bank: 'B', id })) } });
    const find = (filter: string) => `otherAccounts(filter: ${filter}) { nodes { otherAccountId } }`;
    const result = await ask(
      `{ ${inAccount(`one: ${find('{ id: "P2" }')} none: ${find('{ id: "P3" }')} all: otherAccounts(filter: {}) { totalCount }`)} }`,
    );
    const found = { one: { nodes: [{ otherAccountId: 'P2' }] }, none: { nodes: [] }, all: { totalCount: 3 } };
    expect(result).toEqual({ data: { bank: { account: found } } });
    expect(bank.lines()).toEqual([others]);
  });
});

describe('products without a filter', () => {
  const all = '{ bank { products { nodes { productId } } } }';

  test('are those under the id in BANK_ALL_PRODUCTS_ID', async () => {
    const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL' };
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise({ body: { product: [{ id: 'P' }, {}] } });
    const nodes = [{ productId: 'P' }, { productId: null }];
    expect(await fixture.ask(all)).toEqual({ data: { bank: { products: { nodes } } } });
    expect(sentJson(onlyCall(fixture.bank))).toEqual({ id: 'ALL' });
  });

  test('are refused with the name of the variable if it is not set', async () => {
    const result = await ask(all);
    expect(failuresOf(result)).toEqual(['bank.products BAD_USER_INPUT']);
    expect(result.errors?.[0]?.message).toContain('BANK_ALL_PRODUCTS_ID');
    expect(bank.calls).toEqual([]);
  });
});

describe('a branch', () => {
  const one = (branchId: string) => `{ bank { branch(branchId: "${branchId}") { name } } }`;
  const second = { ...branchRecord, name: 'second' };

  test.each([
    ['found by its id in the list', [branchOf({ id: 'another' }), null, 'no record', branchRecord]],
    ['the first of two with one id', [branchRecord, second]],
  ])('is %s', async (_, list) => {
    bank.on(branches, { body: { branches: list } });
    expect(await ask(one('branch-id'))).toEqual({ data: { bank: { branch: { name: 'branch-name' } } } });
    expect(bank.lines()).toEqual([branches]);
  });

  test('that the list does not contain is NOT_FOUND', async () => {
    bank.on(branches, { body: { branches: [branchRecord, branchOf()] } });
    const result = await ask(one('nowhere'));
    expect(result.data).toEqual({ bank: { branch: null } });
    expect(failuresOf(result)).toEqual(['bank.branch NOT_FOUND']);
    expect(result.errors?.[0]?.extensions.operation).toBe('getBranches');
  });

  test('is read from the list of all branches, although a filtered list had it with fewer fields', async () => {
    const query = branches.replace('GET', 'POST');
    bank.on(query, { body: { branches: [branchOf({ id: 'branch-id' })] } });
    bank.on(branches, { body: { branches: [branchRecord] } });
    const result = await ask(
      `{ bank { branches(filter: { id: "Q" }) { nodes { ${one('branch-id').slice(1, -1)} } } } }`,
    );
    const nodes = [{ bank: { branch: { name: 'branch-name' } } }];
    expect(result).toEqual({ data: { bank: { branches: { nodes } } } });
    expect(bank.lines()).toEqual([query, branches]);
  });
});

describe('a counterparty is found', () => {
  const list = [
    { bank: 'B', id: 'P1', kind: 'by its id', IBAN: 'CY17 0020', number: '1' },
    { bank: 'B', id: 'P2', kind: 'by its IBAN', IBAN: 'GR16 0110 1250', number: '2' },
    { bank: 'B', kind: 'by its number', number: '42' },
    { bank: 'B', id: 'GR160110125O', kind: 'look-alike', IBAN: 'P1', number: '3' },
    { bank: 'B', id: 'P5', kind: 'one of two', IBAN: 'DE00', number: '7' },
    { bank: 'B', id: 'P5', kind: 'one of two', IBAN: 'DE00', number: '7' },
  ];
  async function find(name: string) {
    bank.on(others, { body: { otherAccounts: list } });
    const result = await ask<Record<string, Record<string, unknown>>, object>(
      `{ ${inAccount(`otherAccount(otherAccountId: "${name}") { id otherAccountId kind }`)} }`,
    );
    expect(bank.lines()).toEqual([others]);
    bank.calls.length = 0;
    return { found: Object(result.data?.bank?.account).otherAccount, result };
  }

  test.each([
    ['P1', 'by its id', 'P1'],
    ['GR1601101250', 'by its IBAN', 'P2'],
    ['gr16 0110 1250', 'by its IBAN', 'P2'],
    ['42', 'by its number', '42'],
  ])('%s %s', async (name, kind, otherAccountId) => {
    const { found, result } = await find(name);
    expect(found).toMatchObject({ kind, otherAccountId });
    expect(result.errors).toBeUndefined();
  });

  test('by its IBAN with the same global id as in the list', async () => {
    expect((await find('GR1601101250')).found.id).toBe((await find('P2')).found.id);
  });

  test.each([
    ['P5', /several entries with the id, IBAN or number P5/],
    ['DE00', /several entries with the id, IBAN or number DE00/],
    ['7', /several entries with the id, IBAN or number 7/],
    ['nobody', /./],
    ['', /./],
  ])('not by %j, which several have or none', async (name, message) => {
    const { found, result } = await find(name);
    expect(found).toBeNull();
    expect(failuresOf(result)).toEqual(['bank.account.otherAccount NOT_FOUND']);
    expect(result.errors?.[0]).toMatchObject({
      message: expect.stringMatching(message),
      extensions: { operation: 'getOtherAccounts' },
    });
  });
});

test('no counterparty is found by an empty id, although one has an empty number', async () => {
  for (const missing of [undefined, null, ''])
    for (const id of ['a', null]) {
      const listed = [
        { bank: 'B', id, number: missing, IBAN: missing },
        { bank: 'B', id: 'b', number: '7', IBAN: 'DE00' },
      ];
      bank.on(others, { body: { otherAccounts: listed } });
      const result = await ask(
        `{ ${inAccount('otherAccount(otherAccountId: "") { otherAccountId kind }')} }`,
      );
      expect(result.data).toEqual({ bank: { account: { otherAccount: null } } });
      expect(failuresOf(result)).toEqual(['bank.account.otherAccount NOT_FOUND']);
    }
});

test('counterparties are found by a part of the name or of the IBAN', async () => {
  const holder = (name: string) => ({ bank: 'B', holder: { is_alias: false, name } });
  bank.on(others, {
    body: {
      otherAccounts: [
        { ...holder('Ádám Kiss'), id: 'a', IBAN: 'CY17 0020 0128' },
        { ...holder('Kissinger'), id: 'b' },
        { id: 'c', bank: 'B', IBAN: 'CY1700200199' },
        { id: 'd', bank: 'B', holder: 'broken', IBAN: 7 },
        { ...holder('ΚΩΣΤΑΣ ΠΑΠΠΑΣ'), id: 'e' },
        { ...holder('Μεσόγειος Τεχνολογία ΑΕ'), id: 'f' },
        { ...holder('Reykjavi\u0301k İstanbul'), id: 'g' },
      ],
    },
  });
  const found = async (search: string) => {
    const { data, errors } = await ask(
      `{ ${inAccount(`otherAccounts(search: "${search}") { totalCount nodes { otherAccountId } }`)} }`,
    );
    expect(errors).toBeUndefined();
    return [...JSON.stringify(data).matchAll(/"otherAccountId":"(\w)"/g)].map(([, id]) => id).join('');
  };
  expect(await found('kiss')).toBe('ab');
  expect(await found('ÁDÁM')).toBe('a');
  expect(await found('κωστ')).toBe('e');
  expect(await found('cy17 002001 9')).toBe('c');
  expect(await found('CY17 0020')).toBe('ac');
  expect(await found('nobody')).toBe('');
  expect(await found('')).toBe('abcdefg');
  for (const text of ['ΜΕΣ', 'μεσ', 'ΜΕΣΌΓΕΙΟΣ τεχνο', 'ΜΕΣΟΓΕΙΟς']) expect(await found(text)).toBe('f');
  for (const text of ['REYKJAVIK', 'reykjavík i', 'ISTANBUL']) expect(await found(text)).toBe('g');
  // White space alone is found in names, but not in an IBAN. An accent alone matches nothing.
  expect(await found(' ')).toBe('aefg');
  expect(await found('\u0301')).toBe('abcdefg');
});
