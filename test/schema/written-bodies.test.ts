import { readFileSync, writeFileSync } from 'node:fs';
import { type GraphQLInputType, getNamedType, isInputObjectType, isRequiredInputField } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { members, serve, update, updateCases, versionIn } from '../support/update-cases.ts';

/**
 * The bodies of all writes and payments as they go over the wire, byte for byte, in the order of the list. A payment's
 * fingerprint is computed from its bytes. `UPDATE_BODIES=1` writes written-bodies.json again.
 */

const place = new URL('written-bodies.json', import.meta.url);

const transaction = `uuid: "uuid" otherAccountId: "oa" accountId: "ta" metadata: { ${members.metadata} } details: {
  value: { amount: "1.00", currency: "EUR" } newBalance: { currency: "EUR", amount: "0.10" }
  approvedByIpAddress: "1" approvedByUserId: "2" cancelledByIpAddress: "3" cancelledByUserId: "4" completed: "5"
  description: "6" pausedByIpAddress: "7" pausedByUserId: "8" posted: "9" postedByIpAddress: "10" postedByUserId: "11"
  status: "12" type: "13" }`;
const payment = `value: { amount: "1.50", currency: "EUR" } description: "d" challengeType: "SMS" idempotencyKey: "key"`;

const mutations: Readonly<Record<string, string>> = {
  putCustomer: `putCustomer(input: { customerId: "C", customer: { ${members.customer} } })`,
  putAccount: `putAccount(input: { accountId: "A", account: { accountId: "A", bankIds: ["B"], ${members.account} } })`,
  putBranch: `putBranch(input: { branchId: "B", branch: { branchId: "B", bankName: "bank", ${members.branch} } })`,
  'putBranch, nulls': `putBranch(input: { branchId: "B", branch: { acceptsDeposits: false, name: null, address: { city: "c", line2: null } } })`,
  putProduct: `putProduct(input: { product: { productId: "P", bankIds: ["B"], ${members.product} } })`,
  'putProduct, defaults': `putProduct(input: { product: { productId: "P" } })`,
  'putProduct, another bank': `putProduct(input: { bankId: "B2", product: { productId: "P" } })`,
  putCustomerMessage: `putCustomerMessage(input: { customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p" })`,
  putTransactionMetadata: `putTransactionMetadata(input: {
    accountId: "A", transactionId: "T", metadataType: "M", transaction: { transactionId: "T", ${transaction} } })`,
  makeTransaction: `makeTransaction(input: {
    accountId: "A", to: { accountId: "T", bankId: "TB" }, ${payment} })`,
  'makeTransaction, defaults': `makeTransaction(input: {
    accountId: "A", to: { bankId: "TB", accountId: "T" }, value: { amount: "3" }, idempotencyKey: "key" })`,
  putTransactionRequest: `putTransactionRequest(input: {
    accountId: "A", transactionRequestType: "T", to: { accountId: "T", bankId: "TB" }, ${payment} })`,
};

async function written(): Promise<Record<string, string>> {
  const bodies: Record<string, string> = {};
  for (const [name, field] of Object.entries(mutations)) {
    await using fixture = await startBankqlFixture();
    await fixture.ask(`mutation { ${field} { __typename } }`);
    bodies[name] = fixture.bank.calls.map(({ body }) => body).join();
  }
  for (const it of updateCases) {
    for (const [what, changes] of [
      ['all', it.all],
      ['the same value', it.same],
    ] as const) {
      await using fixture = await startBankqlFixture();
      serve(fixture.bank, it);
      const version = versionIn((await fixture.ask(`{ ${it.readBack} }`)).data);
      fixture.bank.calls.splice(0);
      await fixture.ask(`mutation { ${update(it, changes)} }`);
      bodies[`${it.field}, ${what}`] = fixture.bank.calls.map(({ body }) => body).join('');
      bodies[`${it.field}, version as read`] = version;
    }
  }
  return bodies;
}

test('the bodies of writes and the versions of records are those in written-bodies.json', async () => {
  const bodies = await written();
  if (process.env.UPDATE_BODIES) writeFileSync(place, `${JSON.stringify(bodies, null, 2)}\n`);
  expect(bodies).toEqual(JSON.parse(readFileSync(place, 'utf8')));
  expect(Object.values(bodies).every((body) => body.length > 10)).toBe(true);
});

/**
 * The literal of an input, with its required members. Other fields are `null` or left out; with `isDeep`, this applies to
 * nested inputs as well.
 */
function literalOf(type: GraphQLInputType, others: 'null' | 'left out', isDeep: boolean): string {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return { Boolean: 'true', Decimal: '1', Float: '1' }[named.name] ?? '"x"';
  const fields = Object.values(named.getFields()).flatMap((field) => {
    const isInner = isDeep && isInputObjectType(getNamedType(field.type));
    if (isInner || isRequiredInputField(field) || field.name === 'idempotencyKey')
      return [`${field.name}: ${literalOf(field.type, others, isDeep)}`];
    return others === 'null' ? [`${field.name}: null`] : [];
  });
  return `{ ${fields.join(', ')} }`;
}

/** The body if only the required members are given. */
const least = {
  putCustomer: '{}',
  putAccount: '{"balance":{}}',
  putBranch: '{"acceptsDeposits":true}',
  putProduct: '{"bank_id":"BANK"}',
  putCustomerMessage: '{"message":"x","from_department":"x","from_person":"x"}',
  putTransactionMetadata: '{"details":{"approved_by_ip_address":"x"}}',
  makeTransaction:
    '{"from":{"bank_id":"BANK","account_id":"x"},"to":{"account_id":"x"},"value":{"amount":1}}',
  putTransactionRequest: '{"to":{"account_id":"x"}}',
};

test.each(Object.entries(least))(
  '%s sends none of the fields that are null, at any depth',
  async (name, body) => {
    const [argument] = schema.getMutationType()?.getFields()[name]?.args ?? [];
    if (argument === undefined) throw new Error(`${name} is no mutation`);
    const sent = async (...options: ['null' | 'left out', boolean]) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise(anyAnswer);
      const input = literalOf(argument.type, ...options);
      const { errors } = await fixture.ask(`mutation { ${name}(input: ${input}) { __typename } }`);
      expect(errors).toBeUndefined();
      return onlyCall(fixture.bank).body;
    };
    expect([await sent('left out', false), await sent('null', false)]).toEqual([body, body]);
    expect(await sent('null', true)).toBe(await sent('left out', true));
  },
);
