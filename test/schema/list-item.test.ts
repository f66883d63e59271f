import { describe, expect, test } from 'vitest';
import { bankLine, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

const inAccount = (selection: string, view = '') =>
  `{ bank { account(accountId: "A"${view}) { ${selection} } } }`;

/** Lists whose entries may come without an id: how they are asked for, and what the bank then gets. */
const lists = [
  ['{ bank { branches { nodes { id name } } } }', 'Branch', 'GET /branches', ''],
  [
    '{ bank { branches(filter: { id: "Q", name: "N" }) { nodes { id name } } } }',
    'Branch',
    'POST /branches',
    '{"id":"Q","name":"N"}',
  ],
  [
    '{ bank { branches(filter: { id: "Q" }) { nodes { id name } } } }',
    'Branch',
    'POST /branches',
    '{"id":"Q"}',
  ],
  [
    '{ bank { products(filter: { id: "Q" }) { nodes { id name } } } }',
    'Product',
    'POST /products',
    '{"id":"Q"}',
  ],
  [
    '{ bank { products(filter: { id: "Q", name: "Ä" }) { nodes { id name } } } }',
    'Product',
    'POST /products',
    '{"id":"Q","name":"Ä"}',
  ],
  [
    inAccount('otherAccounts { nodes { id name: kind } }'),
    'OtherAccount',
    'GET /accounts/A/owner/other_accounts',
    '',
  ],
  [
    inAccount('otherAccounts { nodes { id name: kind } }', ', viewId: "v"'),
    'OtherAccount',
    'GET /accounts/A/v/other_accounts',
    '',
  ],
  [
    inAccount('otherAccounts(filter: { iban: "I", id: "Q" }) { nodes { id name: kind } }'),
    'OtherAccount',
    'POST /accounts/A/owner/other_accounts',
    '{"IBAN":"I","id":"Q"}',
  ],
  [
    '{ metadata(id: "M") { nodes { id name: code } } }',
    'MetadataEntry',
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

const nodeQuery = `query Q($id: ID!) { node(id: $id) {
  id ... on Branch { name } ... on Product { name } ... on OtherAccount { name: kind } ... on MetadataEntry { name: code }
} }`;

describe.each(lists)('an entry of %s', (document, type, called, body) => {
  const line = bankLine(called);

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
      expect(Buffer.from(id, 'base64url').toString()).toMatch(new RegExp(`^${type}:`));
      expect(await fixture.ask(nodeQuery, { id })).toEqual({ data: { node: { id, name } } });
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
    const result = await fixture.ask(nodeQuery, { id: last?.id });
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
    const result = await fixture.ask(nodeQuery, { id: first?.id });
    expect(failuresOf(result)).toEqual(['node BANK_BAD_RESPONSE']);
  });
});

test('entries of all these lists have ids of their own', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(unnamed);
  const ids = new Set<string>();
  for (const [document] of lists) {
    for (const [index, { id }] of entriesOf((await fixture.ask(document)).data).entries())
      if (index !== 2) ids.add(id);
  }
  expect(ids.size).toBe(lists.length * 3);
});

test('an entry with an id has one global id, whichever query gave it', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(unnamed);
  const ids: string[] = [];
  for (const [document] of lists.slice(0, 3))
    ids.push(entriesOf((await fixture.ask(document)).data)[2]?.id ?? '');
  expect(ids[0]).not.toBe('');
  expect(new Set(ids).size).toBe(1);
});
