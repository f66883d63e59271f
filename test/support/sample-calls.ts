import { randomUUID } from 'node:crypto';
import type { Call } from '../../src/bank/call.ts';
import type { BankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import type { CallInput } from '../../src/bank/request.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { type OperationId, operations } from '../../src/contract/operations.ts';
import { readFrom } from './bank-client.ts';

/** Credentials that no other text of a test holds, so that a leak can be searched for. */
export const canaries = {
  subscriptionKey: `key-${randomUUID()}`,
  authProviderName: `provider-${randomUUID()}`,
  authId: `caller-${randomUUID()}`,
} satisfies Credentials;

/** What a call of an operation looks like on the wire: written by hand, without the contract's help. */
interface Wire {
  /** A GraphQL operation that makes this call and no other. */
  readonly document: string;
  /** The request line's method and target. */
  readonly line: string;
  /** The request's body; empty where there is none. */
  readonly sent: string;
  /** The bank's answer. */
  readonly reply: string;
  /** What the caller gets of it. */
  readonly answer: unknown;
}

/** One call of an operation; ids may be replaced by their names. */
export interface SampleCall extends Wire {
  readonly operation: Operation;
  readonly ids: Readonly<Record<string, string>>;
  prepare(
    bank: BankClient,
    credentials?: Credentials,
    ids?: Readonly<Record<string, string>>,
  ): Call<Operation>;
  /** Calls a read or a write; prepares and sends a payment. Gives the Track-ID. */
  run(
    bank: BankClient,
    credentials?: Credentials,
    ids?: Readonly<Record<string, string>>,
  ): Promise<{ readonly answer: unknown; readonly trackId: string | null }>;
}

type Ran = Awaited<ReturnType<SampleCall['run']>>;
type Input<T extends Operation> = Omit<CallInput<T>, 'credentials'>;

const sample = <T extends Operation>(
  operation: T,
  input: Input<T>,
  wire: Wire,
  run: (bank: BankClient, input: CallInput<T>) => Promise<Ran>,
): SampleCall => {
  const inputFor = (credentials: Credentials, ids: Readonly<Record<string, string>>) => ({
    ...input,
    ids: { ...input.ids, ...ids },
    credentials,
  });
  return {
    ...wire,
    operation,
    ids: { ...input.ids },
    prepare: (bank, credentials = canaries, ids = {}) => bank.prepare(operation, inputFor(credentials, ids)),
    run: (bank, credentials = canaries, ids = {}) => run(bank, inputFor(credentials, ids)),
  };
};

const read = <T extends Operation & { readonly kind: 'read' }>(operation: T, input: Input<T>, wire: Wire) =>
  sample(operation, input, wire, (bank, full) => readFrom(bank, operation, full));

const write = <T extends Operation & { readonly kind: 'write' }>(operation: T, input: Input<T>, wire: Wire) =>
  sample(operation, input, wire, (bank, full) => bank.write(operation, full));

const payment = <T extends Operation & { readonly kind: 'payment' }>(
  operation: T,
  input: Input<T>,
  wire: Wire,
) =>
  sample(operation, input, wire, async (bank, full) => {
    const call = bank.prepare(operation, full);
    const reply = await bank.send(call);
    return { answer: reply.body.toString('utf8'), trackId: call.trackId };
  });

const inBank = { bankId: 'SNDBCY2N' };
const inView = { ...inBank, accountId: 'a 1', viewId: 'auditor' };
const bank = '/v1/api/banks/SNDBCY2N';
const view = `${bank}/accounts/a%201/auditor`;

const get = (selection: string) => `{ bank(bankId: "SNDBCY2N") { ${selection} } }`;
const account = (selection: string) => `account(accountId: "a 1", viewId: "auditor") { ${selection} }`;
const put = (field: string, input: string) =>
  `mutation { ${field}(input: { bankId: "SNDBCY2N", ${input} }) { __typename } }`;
const ofView = 'accountId: "a 1", viewId: "auditor"';

/** A call of each operation. */
export const sampleCalls: Readonly<Record<OperationId, SampleCall>> = {
  putCustomerID: write(
    operations.putCustomerID,
    {
      ids: { ...inBank, customerId: 'alice' },
      body: { legal_name: 'Αλίκη', bank_id: ['B'], numeric_values: [{ key: 'k', string: '1.0' }] },
    },
    {
      document: put(
        'putCustomer',
        'customerId: "alice", customer: { legalName: "Αλίκη", bankIds: ["B"], numericValues: [{ key: "k", value: "1.0" }] }',
      ),
      line: `PUT ${bank}/customers/alice`,
      sent: '{"legal_name":"Αλίκη","bank_id":["B"],"numeric_values":[{"key":"k","string":"1.0"}]}',
      reply: '{"legal_name":"Αλίκη","metadata":["m"]}',
      answer: { legal_name: 'Αλίκη', metadata: ['m'] },
    },
  ),
  putBranchID: write(
    operations.putBranchID,
    {
      ids: { ...inBank, branchId: 'b-1' },
      body: { acceptsDeposits: false, location: { latitude: 35.1, longitude: -33 } },
    },
    {
      document: put(
        'putBranch',
        'branchId: "b-1", branch: { acceptsDeposits: false, location: { latitude: 35.1, longitude: -33 } }',
      ),
      line: `PUT ${bank}/branches/b-1`,
      sent: '{"acceptsDeposits":false,"location":{"latitude":35.1,"longitude":-33}}',
      reply: '{"acceptsDeposits":false}',
      answer: { acceptsDeposits: false },
    },
  ),
  putTransactionsRequestAccount: payment(
    operations.putTransactionsRequestAccount,
    {
      ids: { ...inView, TYPE: 'SANDBOX_TAN' },
      body: { to: { account_id: 'b', bank_id: 'B' }, value: { currency: 'EUR', amount: '0.10' } },
    },
    {
      document: put(
        'putTransactionRequest',
        `${ofView}, transactionRequestType: "SANDBOX_TAN", to: { accountId: "b", bankId: "B" }, value: { currency: "EUR", amount: "0.10" }, idempotencyKey: "request"`,
      ),
      line: `PUT ${view}/transaction-request-types/SANDBOX_TAN/transaction-requests`,
      sent: '{"to":{"account_id":"b","bank_id":"B"},"value":{"currency":"EUR","amount":0.10}}',
      reply:
        '{"transaction-requests":[{"status":"INITIATED","body":{"to":{"account_id":"b"},"value":{"currency":"EUR","amount":0.10}}}]}',
      answer:
        '{"transaction-requests":[{"status":"INITIATED","body":{"to":{"account_id":"b"},"value":{"currency":"EUR","amount":0.10}}}]}',
    },
  ),
  putAccountID: write(
    operations.putAccountID,
    {
      ids: { ...inBank, accountId: 'a 1' },
      body: { balance: { currency: 'EUR', amount: '9007199254740993.10' }, owners: [] },
    },
    {
      document: put(
        'putAccount',
        'accountId: "a 1", account: { balance: { currency: "EUR", amount: "9007199254740993.10" }, ownerIds: [] }',
      ),
      line: `PUT ${bank}/accounts/a%201`,
      sent: '{"balance":{"currency":"EUR","amount":9007199254740993.10},"owners":[]}',
      reply: '{"balance":{"amount":9007199254740993.10}}',
      answer: { balance: { amount: '9007199254740993.10' } },
    },
  ),
  postBranches: read(
    operations.postBranches,
    { ids: inBank, body: { id: 'B', name: '東京' } },
    {
      document: get('branches(filter: { id: "B", name: "東京" }) { totalCount }'),
      line: `POST ${bank}/branches`,
      sent: '{"id":"B","name":"東京"}',
      reply: '{"branches":[{"acceptsDeposits":true}]}',
      answer: [{ acceptsDeposits: true }],
    },
  ),
  postOtherAccounts: read(
    operations.postOtherAccounts,
    { ids: inView, body: { IBAN: 'CY17' } },
    {
      document: get(account('otherAccounts(filter: { iban: "CY17" }) { totalCount }')),
      line: `POST ${view}/other_accounts`,
      sent: '{"IBAN":"CY17"}',
      reply: '{"otherAccounts":[{"bank":"B","id":"o"}]}',
      answer: [{ bank: 'B', id: 'o' }],
    },
  ),
  putProduct: write(
    operations.putProduct,
    { ids: inBank, body: { bank_id: 'B', meta: ['x'] } },
    {
      document: put('putProduct', 'product: { bankIds: ["B"], meta: ["x"] }'),
      line: `PUT ${bank}/products`,
      sent: '{"bank_id":"B","meta":["x"]}',
      reply: '{"bank_id":["B"]}',
      answer: { bank_id: ['B'] },
    },
  ),
  postMakeTransaction: payment(
    operations.postMakeTransaction,
    {
      ids: { ...inBank, accountId: 'a 1' },
      body: {
        from: { account_id: 'a 1', bank_id: 'SNDBCY2N' },
        to: { account_id: 'b' },
        value: { currency: 'EUR', amount: '1234567890123456789.000' },
      },
    },
    {
      document: put(
        'makeTransaction',
        'accountId: "a 1", to: { accountId: "b" }, value: { currency: "EUR", amount: "1234567890123456789.000" }, idempotencyKey: "k"',
      ),
      line: `POST ${bank}/accounts/a%201/make-transaction`,
      sent: '{"from":{"account_id":"a 1","bank_id":"SNDBCY2N"},"to":{"account_id":"b"},"value":{"currency":"EUR","amount":1234567890123456789.000}}',
      reply: '',
      answer: '',
    },
  ),
  postMetadata: read(
    operations.postMetadata,
    { ids: {}, body: { id: 'ID / with \\ anything ?' } },
    {
      document: String.raw`{ metadata(id: "ID / with \\ anything ?") { totalCount } }`,
      line: 'POST /v1/api/metadata',
      sent: String.raw`{"id":"ID / with \\ anything ?"}`,
      reply: '{"metadata":[{"code":"c","text":{"name":"n"}}]}',
      answer: [{ code: 'c', text: { name: 'n' } }],
    },
  ),
  postProducts: read(
    operations.postProducts,
    { ids: inBank, body: { id: 'p' } },
    {
      document: get('products(filter: { id: "p" }) { totalCount }'),
      line: `POST ${bank}/products`,
      sent: '{"id":"p"}',
      reply: '{"product":[{"id":"p","bank_id":"B"}]}',
      answer: [{ id: 'p', bank_id: 'B' }],
    },
  ),
  putCustomerMessage: write(
    operations.putCustomerMessage,
    {
      ids: { ...inBank, customerId: 'alice' },
      body: { message: 'Γειά "b"\n\0 日本 👋🏽 {"amount": 1e3}', from_department: 'd', from_person: 'p' },
    },
    {
      document: put(
        'putCustomerMessage',
        String.raw`customerId: "alice", message: "Γειά \"b\"\n\u0000 日本 👋🏽 {\"amount\": 1e3}", fromDepartment: "d", fromPerson: "p"`,
      ),
      line: `PUT ${bank}/customer/alice/messages`,
      sent: String.raw`{"message":"Γειά \"b\"\n\u0000 日本 👋🏽 {\"amount\": 1e3}","from_department":"d","from_person":"p"}`,
      reply: '{"message":"a","date":"2025-11-20"}',
      answer: { message: 'a', date: '2025-11-20' },
    },
  ),
  putTransactions: write(
    operations.putTransactions,
    {
      ids: { ...inView, transactionId: 't', TYPE: 'comment' },
      body: { details: { approved_by_ip_address: '192.0.2.1', value: { amount: '-5.00' } } },
    },
    {
      document: put(
        'putTransactionMetadata',
        `${ofView}, transactionId: "t", metadataType: "comment", transaction: { details: { approvedByIpAddress: "192.0.2.1", value: { amount: "-5.00" } } }`,
      ),
      line: `PUT ${view}/transactions/t/metadata/comment`,
      sent: '{"details":{"approved_by_ip_address":"192.0.2.1","value":{"amount":-5.00}}}',
      reply: '{"details":{"value":{"amount":-5.00}}}',
      answer: { details: { value: { amount: '-5.00' } } },
    },
  ),
  getAccountsScope: read(
    operations.getAccountsScope,
    { ids: { ...inView, scope: 'views' } },
    {
      document: get(account('label')),
      line: `GET ${view}/views`,
      sent: '',
      reply: '{"accounts":[{"balance":{"currency":"EUR","amount":1.10}}]}',
      answer: [{ balance: { currency: 'EUR', amount: '1.10' } }],
    },
  ),
  getTransaction: read(
    operations.getTransaction,
    { ids: { ...inView, transactionId: 't' } },
    {
      document: get(account('transaction(transactionId: "t") { uuid }')),
      line: `GET ${view}/transactions/t/transaction`,
      sent: '',
      reply: '{"id":"t","details":{"new_balance":{"amount":1e2}}}',
      answer: { id: 't', details: { new_balance: { amount: '1e2' } } },
    },
  ),
  getTransactionsRequest: read(
    operations.getTransactionsRequest,
    { ids: inView },
    {
      document: get(account('transactionRequests { totalCount }')),
      line: `GET ${view}/transaction-requests`,
      sent: '',
      reply: '{"transaction-requests":[{"body":{"value":{"amount":0.30}}}]}',
      answer: [{ body: { value: { amount: '0.30' } } }],
    },
  ),
  getCustomer: read(
    operations.getCustomer,
    { ids: { ...inBank, customerId: 'alice' } },
    {
      document: get('customer(customerId: "alice") { email }'),
      line: `GET ${bank}/customers/alice`,
      sent: '',
      reply: '{"legal_name":"Alice","email":null}',
      answer: { legal_name: 'Alice', email: null },
    },
  ),
  getBranches: read(
    operations.getBranches,
    { ids: inBank },
    {
      document: get('branches { totalCount }'),
      line: `GET ${bank}/branches`,
      sent: '',
      reply: '{"branches":[]}',
      answer: [],
    },
  ),
  getOtherAccounts: read(
    operations.getOtherAccounts,
    { ids: inView },
    {
      document: get(account('otherAccounts { totalCount }')),
      line: `GET ${view}/other_accounts`,
      sent: '',
      reply: '{"otherAccounts":[{"bank":"B"}]}',
      answer: [{ bank: 'B' }],
    },
  ),
  getMessagesOwner: read(
    operations.getMessagesOwner,
    { ids: inBank },
    {
      document: get('messages { totalCount }'),
      line: `GET ${bank}/customer/messages`,
      sent: '',
      reply: '{"messages":[{"message":"m"}]}',
      answer: [{ message: 'm' }],
    },
  ),
  getProduct: read(
    operations.getProduct,
    { ids: { ...inBank, productId: 'p' } },
    {
      document: get('product(productId: "p") { name }'),
      line: `GET ${bank}/products/p`,
      sent: '',
      reply: '{"id":"p","bank_id":["B"]}',
      answer: { id: 'p', bank_id: ['B'] },
    },
  ),
};
