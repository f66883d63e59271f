import { isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { encodeGlobalId, globalIdTypes } from '../../src/schema/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

test('bankIds takes one bank where the bank does', async () => {
  await using fixture = await startBankqlFixture();
  for (const bankIds of ['[]', '["A", "B"]']) {
    const result = await fixture.ask(
      `mutation { putProduct(input: { product: { bankIds: ${bankIds} } }) { trackId } }`,
    );
    expect(failuresOf(result)).toEqual(['putProduct BAD_USER_INPUT']);
  }
  expect(fixture.bank.calls).toEqual([]);
});

const account = encodeGlobalId('Account', '["BANK","A","owner"]');

const CustomerOf = 'query ($id: ID!) { bank { customer(customerId: $id) { email } } }';

test.each([
  ['Message', 'is only for the caches of clients'],
  ['MetadataEntry', 'only `node` and `nodes` take'],
  ['Payment', 'only `node` and `nodes` take'],
  ['TransactionRequest', 'only `node` and `nodes` take'],
  ['Viewer', 'is only for the caches of clients'],
])(
  'the global id of a %s is refused, with no field named, since none has an id of the bank',
  async (typename, use) => {
    await using fixture = await startBankqlFixture();
    const id = encodeGlobalId(typename, '["A","B","C"]');
    const result = await fixture.ask(CustomerOf, { id });
    expect(result.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    expect(result.errors?.[0]?.message).toMatch(
      new RegExp(`this is a global \`id\` of the type ${typename}, which ${use}\\.$`),
    );
    expect(fixture.bank.calls).toEqual([]);
  },
);

test('every other type with a global id has the field that the refusal names', () => {
  for (const [typename, idType] of globalIdTypes) {
    const type = schema.getType(typename);
    const fields = isObjectType(type) ? Object.keys(type.getFields()) : [];
    if (idType?.bankIdField) expect(fields).toContain(idType.bankIdField);
  }
});

test('no other id is taken for one', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const likeOne = [
    'QWNjb3VudA',
    'Transfer-0000-0001',
    'SNDBCY2N',
    'VGhpcyBpcyBubyBnbG9iYWwgaWQ',
    Buffer.from('Account:A').toString('base64url'),
    Buffer.from('Account:{}').toString('base64url'),
    Buffer.from('Person:["BANK","A"]').toString('base64url'),
    `${account}A`,
  ];
  for (const id of likeOne) {
    const result = await fixture.ask(CustomerOf, { id });
    expect([id, result.errors]).toEqual([id, undefined]);
  }
});
