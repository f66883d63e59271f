import fc from 'fast-check';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../src/schema/schema.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const AnyNode = graphql(`
  query AnyNode($ids: [ID!]!) {
    nodes(ids: $ids) {
      ... on Account { label }
      ... on Bank { branches { totalCount } }
      ... on Branch { name }
      ... on Customer { legalName }
      ... on MetadataEntry { code }
      ... on OtherAccount { kind }
      ... on Product { name }
      ... on Transaction { uuid }
    }
  }
`);

const GlobalIdsOfEach = graphql(`
  query GlobalIdsOfEach {
    bank {
      id
      customer(customerId: "C") { id }
      product(productId: "P") { id }
      branch(branchId: "B") { id }
      account(accountId: "Ä", viewId: "V") {
        id
        otherAccount(otherAccountId: "O") { id }
        transaction(transactionId: "T") { id }
      }
    }
  }
`);

const encode = (text: string) => Buffer.from(text, 'utf8').toString('base64url');

/** A hash of a content. */
const hash = 'ab'.repeat(32);

/** Asks for all of them, twenty at a time: each has to be refused, and nothing may be called. */
async function expectRefused(ids: readonly string[]) {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  for (let start = 0; start < ids.length; start += 20) {
    const some = ids.slice(start, start + 20);
    const result = await fixture.ask(AnyNode, { ids: some });
    expect(result.data).toEqual({ nodes: some.map(() => null) });
    expect(failuresOf(result)).toEqual(some.map((_, index) => `nodes.${index} BAD_USER_INPUT`).sort());
  }
  expect(fixture.bank.lines()).toEqual([]);
}

/** Global ids as bankql answers them. */
async function answeredIds() {
  await using fixture = await startBankqlFixture();
  const result = await fixture.ask(GlobalIdsOfEach);
  return [...JSON.stringify(result.data).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => String(id));
}

describe('a global id that bankql has not made is refused without a call', () => {
  test('where it is no such text at all', async () => {
    await expectRefused([
      '',
      ' ',
      ':',
      'x',
      'Account',
      '[]',
      '1',
      'null',
      '\u0000',
      'Ä',
      '💶',
      'x'.repeat(5000),
    ]);
  });

  test('where its type is none, or no node', async () => {
    const types = [
      '',
      'Nothing',
      'account',
      'Query',
      'Message',
      'TransactionRequest',
      'Money',
      'AccountRef',
      '__proto__',
      'constructor',
      'toString',
      'Account ',
      'Node',
    ];
    await expectRefused(types.map((type) => encode(`${type}:["BANK","A","owner"]`)));
  });

  test('where its key is of another shape', async () => {
    const keys = [
      'Bank:[]',
      'Bank:["B","C"]',
      'Bank:"B"',
      'Bank:B',
      'Bank:[null]',
      'Bank:["B"',
      'Bank:{"0":"B","length":1}',
      'Customer:["B"]',
      'Customer:["B","C","D"]',
      'Customer:["B",5]',
      'Customer:["B",["C"]]',
      'Account:["B","A"]',
      'Account:["B","A","V","X"]',
      'Account:["B","A",null]',
      'Transaction:["B","A","V"]',
      'Transaction:["B","A","V","T","X"]',
      'Product:["B"]',
      'Product:["B",null]',
      `Product:["B","P","${hash}"]`,
      `Product:["B",null,"${hash}",null]`,
      `Product:["B",null,"${hash.toUpperCase()}"]`,
      `Product:["B",null,"${hash.slice(1)}"]`,
      'Product:["B",null,""]',
      'Branch:["B",null,0]',
      'Branch:["B",null,null]',
      `Account:["B","A","V","${hash}"]`,
      `Account:["B","A","V","all","${hash}"]`,
      `Account:["B",null,"V","views","${hash}"]`,
      'OtherAccount:["B","A","V"]',
      'OtherAccount:["B","A","V",null]',
      `OtherAccount:["B","A",null,null,"${hash}"]`,
      'MetadataEntry:["M","C"]',
      'MetadataEntry:[{"id":"M"}]',
      'MetadataEntry:[{"id":"M"},null]',
      `MetadataEntry:[{"id":"M"},"C","${hash}"]`,
      `MetadataEntry:[{"id":"M","x":1},null,"${hash}"]`,
      `MetadataEntry:[null,null,"${hash}"]`,
    ];
    await expectRefused(keys.map(encode));
  });

  test('where an id in it can be no segment of a path', async () => {
    const bad = ['..', '.', '', 'a/b', '%2e%2e', 'a?b', ' a', 'ａ'];
    const keys = bad.flatMap((id) => [
      `Bank:${JSON.stringify([id])}`,
      `Customer:${JSON.stringify(['B', id])}`,
      `Customer:${JSON.stringify([id, 'C'])}`,
      `Account:${JSON.stringify([id, 'A', 'V'])}`,
      `Account:${JSON.stringify(['B', id, 'V'])}`,
      `Account:${JSON.stringify(['B', 'A', id])}`,
      `Transaction:${JSON.stringify(['B', 'A', 'V', id])}`,
      `Transaction:${JSON.stringify(['B', 'A', id, 'T'])}`,
      `Product:${JSON.stringify(['B', id])}`,
      `Product:${JSON.stringify([id, null, hash])}`,
      `Branch:${JSON.stringify([id, 'BR'])}`,
      `OtherAccount:${JSON.stringify(['B', id, 'V', 'O'])}`,
      `OtherAccount:${JSON.stringify(['B', 'A', id, null, hash])}`,
    ]);
    await expectRefused(keys.map(encode));
  });

  test('where it is written in another way', async () => {
    const [id = ''] = (await answeredIds()).slice(4);
    const text = Buffer.from(id, 'base64url').toString('utf8');
    expect(text).toBe('Account:["BANK","Ä","V"]');
    await expectRefused([
      `${id}=`,
      `${id}==`,
      ` ${id}`,
      `${id}\n`,
      `${id}A`,
      id.toLowerCase(),
      encodeURIComponent(`${id}=`),
      text,
      encode(id),
      Buffer.from(text, 'latin1').toString('base64url'),
      Buffer.from(text, 'utf16le').toString('base64url'),
      Buffer.from(text, 'utf8').toString('hex'),
      encode('Account: ["BANK","Ä","V"]'),
      encode('Account:["BANK", "Ä","V"]'),
      encode('Account:["BANK","\\u00c4","V"]'),
      encode('Account:["B\\u0041NK","Ä","V"]'),
      encode('Account:["BANK","A\u0308","V"]'),
      encode('\ufeffAccount:["BANK","Ä","V"]'),
      encode('MetadataEntry:[{"id":"X","id":"M"},"C"]'),
    ]);
  });

  test('where it is cut, or one letter of it is another', async () => {
    const ids = await answeredIds();
    expect(ids).toHaveLength(7);
    await expectRefused(
      ids.flatMap((id) => Array.from({ length: id.length - 1 }, (_, length) => id.slice(0, length))),
    );
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=';
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ids),
        fc.nat(),
        fc.constantFrom(...letters),
        async (id, place, letter) => {
          const at = place % id.length;
          const changed = id.slice(0, at) + letter + id.slice(at + 1);
          const result = await fixture.ask('query Q($id: ID!) { node(id: $id) { id } }', { id: changed });
          // A changed letter may name another record; then its id is that record's own.
          if (result.errors === undefined) expect(result.data).toEqual({ node: { id: changed } });
          else expect(failuresOf(result)).toEqual(['node BAD_USER_INPUT']);
        },
      ),
      { seed: 20_261_120, numRuns: 200 },
    );
    expect(fixture.bank.calls).toEqual([]);
  });
});

test('is refused by `node` as by `nodes`, with the same words', async () => {
  await using fixture = await startBankqlFixture();
  const result = await fixture.ask('{ node(id: "forged") { id } nodes(ids: ["forged"]) { id } }');
  expect(result.data).toEqual({ node: null, nodes: [null] });
  const [one, other] = result.errors ?? [];
  expect(one?.message).toBe(other?.message);
  expect(failuresOf(result)).toEqual(['node BAD_USER_INPUT', 'nodes.0 BAD_USER_INPUT']);
});

test.each([
  ['Bank', { bankId: 'B' }, 'Bank:["B"]'],
  ['Account', { bankId: 'B', accountId: 'A', viewId: 'V' }, 'Account:["B","A","V"]'],
  ['Branch', { bankId: 'B', branchId: 'X' }, 'Branch:["B","X"]'],
])('that of a %s is there at once, and no promise', (name, ids, expected) => {
  const type = schema.getType(name);
  const id = isObjectType(type) ? type.getFields().id : undefined;
  expect(id?.resolve?.(ids, {}, undefined, {} as GraphQLResolveInfo)).toBe(encode(expected));
});
