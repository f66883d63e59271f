import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { credentialHeaders } from './bank-schema.ts';

/**
 * Tailcall (Rust), configured by a schema whose fields say which calls they are. It cannot name a key with a dash, and
 * so reads no transaction requests.
 */

const banks = `${process.env.BANK_URL}/v1/api/banks`;
const view = `${banks}/{{.args.BANK_ID}}/accounts/{{.args.ACCOUNT_ID}}/{{.args.VIEW_ID}}`;
const viewArguments = 'ACCOUNT_ID: String!, BANK_ID: String!, VIEW_ID: String!';

const configuration = `
schema
  @server(port: ${process.env.PORT}, hostname: "127.0.0.1")
  @upstream(allowedHeaders: ${JSON.stringify(credentialHeaders)}) {
  query: Query
}
type Query {
  getBranches(BANK_ID: String!): Branches @http(url: "${banks}/{{.args.BANK_ID}}/branches")
  getCustomer(BANK_ID: String!, CUSTOMER_ID: String!): Customer
    @http(url: "${banks}/{{.args.BANK_ID}}/customers/{{.args.CUSTOMER_ID}}")
  getAccountsScope(${viewArguments}): Accounts @http(url: "${view}/views")
  getOtherAccounts(${viewArguments}): OtherAccounts @http(url: "${view}/other_accounts")
  getTransaction(${viewArguments}, TRANSACTION_ID: String!): Transaction
    @http(url: "${view}/transactions/{{.args.TRANSACTION_ID}}/transaction")
}
type Branches { branches: [Branch] }
type Branch { id: String name: String address: Address }
type Address { city: String country: String line_1: String line_2: String line_3: String postcode: String state: String }
type Customer { legal_name: String email: String }
type Accounts { accounts: [Account] }
type Account { id: String label: String balance: Money owners: [String] }
type Money { amount: Float currency: String }
type OtherAccounts { otherAccounts: [OtherAccount] }
type OtherAccount { id: String IBAN: String holder: Holder }
type Holder { name: String is_alias: Boolean }
type Transaction { id: String details: TransactionDetails }
type TransactionDetails { status: String value: Money }
`;

await writeFile('tailcall.graphql', configuration);
const require = createRequire(import.meta.url);
const binary = join(dirname(require.resolve('@tailcallhq/core-linux-x64-gnu/package.json')), 'bin/tailcall');
// It would write a line for each call.
process.execve?.(binary, ['tailcall', 'start', 'tailcall.graphql'], {
  ...process.env,
  TAILCALL_LOG_LEVEL: 'warn',
});
