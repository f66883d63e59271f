// A program that uses the installed package: bankql in Express, with a permission plugin, the sandbox bank and SQLite.
// check-package.ts runs it. It ends with an error if an answer is not the expected one.
import assert from 'node:assert/strict';
import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { createBankql, schema } from 'bankql';
import express from 'express';
import { defaultFieldResolver, GraphQLError, GraphQLSchema } from 'graphql';

// The schema must be made by the host's graphql: two copies could not execute each other's schema.
assert(schema instanceof GraphQLSchema);

const guarded = mapSchema(schema, {
  [MapperKind.OBJECT_FIELD](field, name, typeName) {
    if (`${typeName}.${name}` !== 'Account.balance') return undefined;
    const { resolve = defaultFieldResolver } = field;
    return {
      ...field,
      resolve(source, args, context, info) {
        if (context.request.headers.get('x-role') !== 'teller')
          throw new GraphQLError('Only tellers see balances.');
        return resolve(source, args, context, info);
      },
    };
  },
});
const permissions = {
  onSchemaChange({ schema, replaceSchema }) {
    if (schema !== guarded) replaceSchema(guarded);
  },
};

const bankql = await createBankql({ environment: process.env, plugins: [permissions] });
const server = express().use('/graphql', bankql.node).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const headers = {
  'Content-Type': 'application/json',
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': 'alice',
};
async function ask(query, role = '') {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'X-Role': role },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

const balance = '{ bank { account(accountId: "alice-current") { balance { amount } } } }';
const before = Number((await ask(balance, 'teller')).data.bank.account.balance.amount);
const refused = await ask(balance);
assert.equal(refused.errors[0].message, 'Only tellers see balances.');
assert.equal(refused.data.bank.account.balance, null);

const pay = `mutation { makeTransaction(input: {
  accountId: "alice-current", to: { accountId: "payee-landlord" }, value: { amount: "12.50", currency: "EUR" },
  idempotencyKey: "mounted" }) { payment { status } } }`;
for (let turn = 0; turn < 2; turn++) {
  const { data, errors } = await ask(pay);
  assert.equal(data?.makeTransaction?.payment.status, 'COMPLETED', JSON.stringify(errors));
}
const after = Number((await ask(balance, 'teller')).data.bank.account.balance.amount);
assert.equal((before - after).toFixed(2), '12.50');

server.closeAllConnections();
server.close();
await bankql.close();
