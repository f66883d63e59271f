import { describe, expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

/** Lists whose entries may come without an id: how they are asked for, and what the bank then gets. */
const lists = [
  [
    'branches',
    '{ bank { branches { nodes { id name } } } }',
    'Branch',
    'name',
    'GET /v1/api/banks/BANK/branches',
    '',
  ],
  [
    'branches by a filter',
    '{ bank { branches(filter: { id: "Q", name: "N" }) { nodes { id name } } } }',
    'Branch',
    'name',
    'POST /v1/api/banks/BANK/branches',
    '{"id":"Q","name":"N"}',
  ],
  [
    'branches by another filter',
    '{ bank { branches(filter: { id: "Q" }) { nodes { id name } } } }',
    'Branch',
    'name',
    'POST /v1/api/banks/BANK/branches',
    '{"id":"Q"}',
  ],
  [
    'products',
    '{ bank { products(filter: { id: "Q" }) { nodes { id name } } } }',
    'Product',
    'name',
    'POST /v1/api/banks/BANK/products',
    '{"id":"Q"}',
  ],
  [
    'products by a name',
    '{ bank { products(filter: { id: "Q", name: "Ä" }) { nodes { id name } } } }',
    'Product',
    'name',
    'POST /v1/api/banks/BANK/products',
    '{"id":"Q","name":"Ä"}',
  ],
  [
    'other accounts',
    '{ bank { account(accountId: "A") { otherAccounts { nodes { id name: kind } } } } }',
    'OtherAccount',
    'kind',
    'GET /v1/api/banks/BANK/accounts/A/owner/other_accounts',
    '',
  ],
  [
    'other accounts through a view',
    '{ bank { account(accountId: "A", viewId: "v") { otherAccounts { nodes { id name: kind } } } } }',
    'OtherAccount',
    'kind',
    'GET /v1/api/banks/BANK/accounts/A/v/other_accounts',
    '',
  ],
  [
    'other accounts by a filter',
    '{ bank { account(accountId: "A") { otherAccounts(filter: { iban: "I", id: "Q" }) { nodes { id name: kind } } } } }',
    'OtherAccount',
    'kind',
    'POST /v1/api/banks/BANK/accounts/A/owner/other_accounts',
    '{"IBAN":"I","id":"Q"}',
  ],
  [
    'metadata',
    '{ metadata(id: "M") { nodes { id name: code } } }',
    'MetadataEntry',
    'code',
    'POST /v1/api/metadata',
    '{"id":"M"}',
  ],
] as const;

/** A list of four entries, of which one has an id; each is named after the call that asks for it. */
function unnamed({ method, path, body }: RecordedCall) {
  const entries = [0, 1, 2, 3].map((index) => {
    const name = `${index} of ${method} ${path} ${body}`;
    const id = [{}, { id: null }, { id: 'ID' }, { id: '' }][index];
    return { ...id, acceptsDeposits: true, bank: 'b', name, kind: name, code: name };
  });
  const key = /(\w+)$/.exec(path)?.[1] ?? '';
  return {
    body: { [key === 'products' ? 'product' : key === 'other_accounts' ? 'otherAccounts' : key]: entries },
  };
}

interface Entry {
  readonly id: string;
  readonly name: string;
}

const entriesOf = (data: unknown): Entry[] =>
  [...JSON.stringify(data).matchAll(/\{"id":"([^"]+)","name":("(?:[^"\\]|\\.)*")\}/g)].map(
    ([, id, name]) => ({
      id: String(id),
      name: JSON.parse(String(name)),
    }),
  );

const nodeQuery = (type: string, field: string) =>
  `query Q($id: ID!) { node(id: $id) { id ... on ${type} { name: ${field} } } }`;

describe.each(lists)('an entry of %s', (_, document, type, field, line, body) => {
  test('without an id is led to by its global id, through the query that gave it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(unnamed);
    const found = await fixture.ask(document);
    expect(found.errors).toBeUndefined();
    const entries = entriesOf(found.data);
    expect(entries).toHaveLength(4);
    expect(new Set(entries.map(({ id }) => id)).size).toBe(4);

    for (const [index, { id, name }] of entries.entries()) {
      if (index === 2) continue;
      fixture.bank.calls.length = 0;
      expect(await fixture.ask(nodeQuery(type, field), { id })).toEqual({ data: { node: { id, name } } });
      expect(fixture.bank.calls.map((call) => [`${call.method} ${call.path}`, call.body])).toEqual([
        [line, body],
      ]);
    }
  });

  test('without an id is NOT_FOUND where the list has become shorter', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(unnamed);
    const last = entriesOf((await fixture.ask(document)).data).at(-1);
    fixture.bank.otherwise((call) => ({
      body: Object.fromEntries(
        Object.entries(unnamed(call).body).map(([key, list]) => [key, list.slice(0, 2)]),
      ),
    }));
    const result = await fixture.ask(nodeQuery(type, field), { id: last?.id });
    expect(result.data).toEqual({ node: null });
    expect(failuresOf(result)).toEqual(['node NOT_FOUND']);
  });

  test('is BANK_BAD_RESPONSE where the list now holds no object at its place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(unnamed);
    const [first] = entriesOf((await fixture.ask(document)).data);
    fixture.bank.otherwise((call) => ({
      body: Object.fromEntries(Object.keys(unnamed(call).body).map((key) => [key, ['text']])),
    }));
    const result = await fixture.ask(nodeQuery(type, field), { id: first?.id });
    expect(failuresOf(result)).toEqual(['node BANK_BAD_RESPONSE']);
  });
});

test('entries of all these lists have ids of their own', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(unnamed);
  const ids = new Set<string>();
  for (const [, document] of lists) {
    for (const [index, { id }] of entriesOf((await fixture.ask(document)).data).entries())
      if (index !== 2) ids.add(id);
  }
  expect(ids.size).toBe(lists.length * 3);
});

test('an entry with an id has one global id, whichever query gave it', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(unnamed);
  const ids: string[] = [];
  for (const [, document] of lists.slice(0, 3))
    ids.push(entriesOf((await fixture.ask(document)).data)[2]?.id ?? '');
  expect(ids[0]).not.toBe('');
  expect(new Set(ids).size).toBe(1);
});
