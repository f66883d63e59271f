/**
 * The operations that the bench's queries need, as an OpenAPI document: for contenders that make their schema from one.
 * What no query selects is left out of the records, as from the schemas that are written by hand.
 */

const string = { type: 'string' };
const boolean = { type: 'boolean' };
const number = { type: 'number' };
const list = (items: object) => ({ type: 'array', items });
const record = (title: string, properties: Record<string, object>) => ({ type: 'object', title, properties });

const money = record('Money', { amount: number, currency: string });
const address = record('Address', {
  city: string,
  country: string,
  line_1: string,
  line_2: string,
  line_3: string,
  postcode: string,
  state: string,
});
const branch = record('Branch', { id: string, name: string, address });
const account = record('Account', { id: string, label: string, balance: money, owners: list(string) });
const customer = record('Customer', { legal_name: string, email: string });
const holder = record('Holder', { name: string, is_alias: boolean });
const otherAccount = record('OtherAccount', { id: string, IBAN: string, holder });
const transactionRequest = record('TransactionRequest', { status: string, transaction_ids: string });
const details = record('TransactionDetails', { status: string, value: money });
const transaction = record('Transaction', { id: string, details });

const get = (operationId: string, path: string, schema: object) => ({
  [`/v1/api/banks/${path}`]: {
    get: {
      operationId,
      parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: string,
      })),
      responses: { 200: { description: 'The answer.', content: { 'application/json': { schema } } } },
    },
  },
});

const view = '{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}';

/** A document of its own for each reader, in which no part stands twice. */
export const openApi = (bankUrl: string) => JSON.parse(JSON.stringify(documentOf(bankUrl)));

const documentOf = (bankUrl: string) => ({
  openapi: '3.0.3',
  info: { title: 'Bank', version: '1' },
  servers: [{ url: bankUrl }],
  paths: {
    ...get('getBranches', '{BANK_ID}/branches', record('Branches', { branches: list(branch) })),
    ...get('getCustomer', '{BANK_ID}/customers/{CUSTOMER_ID}', customer),
    ...get('getAccountsScope', `${view}/views`, record('Accounts', { accounts: list(account) })),
    ...get(
      'getOtherAccounts',
      `${view}/other_accounts`,
      record('OtherAccounts', { otherAccounts: list(otherAccount) }),
    ),
    ...get(
      'getTransactionsRequest',
      `${view}/transaction-requests`,
      record('TransactionRequests', { 'transaction-requests': list(transactionRequest) }),
    ),
    ...get('getTransaction', `${view}/transactions/{TRANSACTION_ID}/transaction`, transaction),
  },
});
