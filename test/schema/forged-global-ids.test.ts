import fc from 'fast-check';
import { isObjectType } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { encodeGlobalId, globalIdTypes } from '../../src/schema/plugin/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise(anyAnswer));

const anyNode = `query AnyNode($ids: [ID!]!) { nodes(ids: $ids) {
  ... on Account { label } ... on Bank { branches { totalCount } } ... on Branch { name } ... on Customer { legalName }
  ... on MetadataEntry { code } ... on OtherAccount { kind } ... on Product { name } ... on Transaction { uuid }
} }`;

const encode = (text: string) => Buffer.from(text, 'utf8').toString('base64url');
/** A hash of the content of an entry. */
const hash = 'ab'.repeat(32);

/** Queries all of these ids, twenty at a time. Each must be refused without a call. */
async function expectRefused(ids: readonly string[]) {
  for (let start = 0; start < ids.length; start += 20) {
    const some = ids.slice(start, start + 20);
    const result = await ask(anyNode, { ids: some });
    expect(result.data).toEqual({ nodes: some.map(() => null) });
    expect(failuresOf(result)).toEqual(some.map((_, index) => `nodes.${index} BAD_USER_INPUT`).sort());
  }
  expect(bank.lines()).toEqual([]);
}

/** Global ids from bankql's answers, all with the same REST id. */
async function answeredIds() {
  const { data } = await ask(`{ bank(bankId: "Ä") {
    id
    customer(customerId: "Ä") { id }
    product(productId: "Ä") { id }
    branch(branchId: "Ä") { id }
    account(accountId: "Ä", viewId: "Ä") {
      id otherAccount(otherAccountId: "Ä") { id } transaction(transactionId: "Ä") { id }
    }
  } }`);
  const ids = [...JSON.stringify(data).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => String(id));
  expect([ids.length, new Set(ids).size]).toEqual([7, 7]);
  return ids;
}

describe('a global id that bankql has not made is refused without a call if', () => {
  test('it is not the base64url of an id', async () => {
    await expectRefused(['', ' ', ':', 'x', 'Account', '[]', '1', 'null', '\0', 'Ä', '💶', 'x'.repeat(5000)]);
  });

  test('its type does not exist or is no node', async () => {
    const types =
      ',Nothing,account,Query,Message,TransactionRequest,Money,AccountRef,__proto__,constructor,toString,Account ,Node';
    await expectRefused(types.split(',').map((type) => encode(`${type}:["BANK","A","owner"]`)));
  });

  test('its key has another shape', async () => {
    const keys = `
      Bank:[] Bank:["B","C"] Bank:"B" Bank:B Bank:[null] Bank:["B" Bank:{"0":"B","length":1}
      Bank:[{"toString":1}] Branch:["B",{"toString":1}]
      Customer:["B"] Customer:["B","C","D"] Customer:["B",5] Customer:["B",["C"]]
      Account:["B","A"] Account:["B","A","V","X"] Account:["B","A",null] Account:["B","A","V","HASH"]
      Account:["B","A","V","all","HASH"] Account:["B",null,"V","views","HASH"]
      Transaction:["B","A","V"] Transaction:["B","A","V","T","X"]
      Product:["B"] Product:["B",null] Product:["B","P","HASH"] Product:["B",null,"HASH",null] Product:["B",null,""]
      Product:["B",null,"${hash.toUpperCase()}"] Product:["B",null,"${hash.slice(1)}"]
      Branch:["B",null,0] Branch:["B",null,null]
      OtherAccount:["B","A","V"] OtherAccount:["B","A","V",null] OtherAccount:["B","A",null,null,"HASH"]
      MetadataEntry:["M","C"] MetadataEntry:[{"id":"M"}] MetadataEntry:[{"id":"M"},null] MetadataEntry:[{"id":"M"},"C","HASH"]
      MetadataEntry:[{"id":"M","x":1},null,"HASH"] MetadataEntry:[null,null,"HASH"]`
      .replaceAll('HASH', hash)
      .trim()
      .split(/\s+/);
    expect(keys).toHaveLength(39);
    await expectRefused(keys.map(encode));
  });

  test('an id in it cannot be part of a path', async () => {
    const keys = [
      'Bank:[ID]',
      'Customer:["B",ID]',
      'Customer:[ID,"C"]',
      'Account:[ID,"A","V"]',
      'Account:["B",ID,"V"]',
      'Account:["B","A",ID]',
      'Transaction:["B","A","V",ID]',
      'Transaction:["B","A",ID,"T"]',
      'Product:["B",ID]',
      `Product:[ID,null,"${hash}"]`,
      'Branch:[ID,"BR"]',
      'OtherAccount:["B",ID,"V","O"]',
      `OtherAccount:["B","A",ID,null,"${hash}"]`,
    ];
    for (const id of ['..', '.', '', 'a/b', '%2e%2e', 'a?b', ' a', 'ａ'])
      await expectRefused(keys.map((key) => encode(key.replace('ID', JSON.stringify(id)))));
  });

  test('it is another spelling of an id', async () => {
    const [id = ''] = (await answeredIds()).slice(4);
    const text = Buffer.from(id, 'base64url').toString('utf8');
    expect(text).toBe('Account:["Ä","Ä","Ä"]');
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

  test('it is cut off or one letter of it is changed', async () => {
    const ids = await answeredIds();
    await expectRefused(
      ids.flatMap((id) => Array.from({ length: id.length - 1 }, (_, length) => id.slice(0, length))),
    );
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=';
    const changes = fc.tuple(fc.constantFrom(...ids), fc.nat(), fc.constantFrom(...letters));
    await fc.assert(
      fc.asyncProperty(changes, async ([id, place, letter]) => {
        const at = place % id.length;
        const changed = id.slice(0, at) + letter + id.slice(at + 1);
        const result = await ask('query Q($id: ID!) { node(id: $id) { id } }', { id: changed });
        // With a changed letter, the id may identify another record. It must then be exactly that record's own id.
        if (result.errors === undefined) expect(result.data).toEqual({ node: { id: changed } });
        else expect(failuresOf(result)).toEqual(['node BAD_USER_INPUT']);
      }),
      { seed: 20_261_120, numRuns: 200 },
    );
    expect(bank.calls).toEqual([]);
  });
});

test('`node` and `nodes` refuse a forged id with the same message', async () => {
  const result = await ask('{ node(id: "forged") { id } nodes(ids: ["forged"]) { id } }');
  expect(result.data).toEqual({ node: null, nodes: [null] });
  const [one, other] = result.errors ?? [];
  expect(one?.message).toBe(other?.message);
  expect(failuresOf(result)).toEqual(['node BAD_USER_INPUT', 'nodes.0 BAD_USER_INPUT']);
});

describe('an argument for an id of the bank', () => {
  // refused-arguments.test.ts tests the global id of an account in each place.
  const customerOf = 'query ($id: ID!) { bank { customer(customerId: $id) { email } } }';

  test.each([
    ['Message', 'only `node` and `nodes` take'],
    ['MetadataEntry', 'only `node` and `nodes` take'],
    ['Payment', 'only `node` and `nodes` take'],
    ['TransactionRequest', 'only `node` and `nodes` take'],
    ['Viewer', 'is only for the caches of clients'],
  ])(
    'refuses the global id of a %s, and names no field, because none has an id of the bank',
    async (type, use) => {
      const { errors } = await ask(customerOf, { id: encodeGlobalId(type, '["A","B","C"]') });
      expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
      expect(errors?.[0]?.message).toMatch(
        new RegExp(`this is a global \`id\` of the type ${type}, which ${use}\\.$`),
      );
      expect(bank.calls).toEqual([]);
    },
  );

  test('names in its refusal a field that the type has', () => {
    for (const [typename, idType] of globalIdTypes) {
      const type = schema.getType(typename);
      const fields = isObjectType(type) ? Object.keys(type.getFields()) : [];
      if (idType?.bankIdField) expect(fields).toContain(idType.bankIdField);
    }
  });

  test.each([
    'QWNjb3VudA',
    'Transfer-0000-0001',
    'SNDBCY2N',
    'VGhpcyBpcyBubyBnbG9iYWwgaWQ',
    encode('Account:A'),
    encode('Account:{}'),
    encode('Person:["BANK","A"]'),
    `${encodeGlobalId('Account', '["BANK","A","owner"]')}A`,
  ])('does not take %s for a global id', async (id) => {
    expect((await ask(customerOf, { id })).errors).toBeUndefined();
  });
});
