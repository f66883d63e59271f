import { afterAll, beforeAll, expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { type RecordedSandbox, startRecordedSandbox } from '../support/recorded-sandbox.ts';

/** The lists of the sandbox that tests put through clients' caches: the selection of a query for each. */

const money = 'value { amount currency }';
const others = 'totalCount nodes { id otherAccountId kind iban number holder { name } }';
const sandboxLists: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['languages', 'account-types', 'transaction-types'].map((set) => [
      `metadata ${set}`,
      `metadata(id: "${set}") { totalCount edges { cursor node { id metadataId code text { name } } } }`,
    ]),
  ),
  branches: 'bank { id branches { totalCount nodes { id branchId name address { city } } } }',
  'filtered branches':
    'bank { id branches(search: "n") { nodes { id name } } again: branches { nodes { id name } } }',
  products: 'bank { id products { totalCount nodes { id productId name meta } } }',
  accounts:
    'viewer { id accounts { nodes { id accountId label balance { amount } owners { id legalName } } } }',
  'accounts by scope': 'bank { id accounts(accountId: "alice-current") { nodes { id viewId label } } }',
  'other accounts': `viewer { id account { id otherAccounts { ${others} } } }`,
  'found other accounts': `viewer { id account { id otherAccounts(search: "a") { ${others} } } }`,
  requests: `viewer { id account { id transactionRequests {
    nodes { id description status resourceUrl ${money} to { accountId } transactions(first: 1) { id uuid } }
  } } }`,
  'filtered requests': `viewer { id account { id transactionRequests(status: ["COMPLETED"]) { nodes { id description ${money} } } } }`,
  'known transactions': `viewer { id account { id knownTransactions(first: 20) {
    totalCount nodes { id transactionId details { description ${money} } }
  } } }`,
  messages: 'viewer { id messages { totalCount nodes { id message date fromPerson } } }',
  payments: `payments { totalCount nodes { id idempotencyKey state description ${money} } }`,
};

/** Every list of the sandbox may be kept by the ids of its entries, as clients' caches do: no entry is lost or taken for another. */

let fixture: RecordedSandbox;
beforeAll(async () => {
  fixture = await startRecordedSandbox();
  for (const key of ['one', 'two', 'three'])
    await fixture.bankql.ask(
      `mutation { makeTransaction(input: { accountId: "alice-current" to: { accountId: "alice-savings" }
        value: { amount: "1.00", currency: "EUR" } idempotencyKey: "${key}" }) { userErrors { code } } }`,
      {},
      alice,
    );
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** The objects with an id in an answer, each with its own plain fields, as Relay's store keeps them: by the id alone. */
function objectsIn(value: unknown): { readonly id: string; readonly fields: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap(objectsIn);
  const id: unknown = Reflect.get(value, 'id');
  if (typeof id !== 'string') return below;
  const plain = Object.entries(value).filter(([, field]) => typeof field !== 'object');
  return [{ id, fields: JSON.stringify(plain) }, ...below];
}

test.each(Object.entries(sandboxLists))(
  'the list of %s has entries, each with an id of its own',
  async (_, selection) => {
    const { data, errors } = await fixture.bankql.ask<object, object>(`{ ${selection} }`, {}, alice);
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).toMatch(/"(nodes|edges)":\[\{/);
    const kept = new Map<string, string>();
    for (const { id, fields } of objectsIn(data)) {
      expect(fields).toBe(kept.get(id) ?? fields);
      kept.set(id, fields);
    }
  },
);
