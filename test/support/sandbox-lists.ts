/** The lists of the sandbox that tests put through clients' caches: the selection of a query for each. */

const money = 'value { amount currency }';
const others = 'totalCount nodes { id otherAccountId kind iban number holder { name } }';
export const sandboxLists: Readonly<Record<string, string>> = {
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
