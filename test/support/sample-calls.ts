import { randomUUID } from 'node:crypto';
import type { Call } from '../../src/bank/call.ts';
import type { BankClient } from '../../src/bank/client.ts';
import type { Credentials } from '../../src/bank/credentials.ts';
import type { CallInput } from '../../src/bank/request.ts';
import { parseExactJson } from '../../src/contract/exact-json.ts';
import type { Kind, Operation } from '../../src/contract/operation.ts';
import { type OperationId, operations } from '../../src/contract/operations.ts';

/** Credentials that occur in no other text of a test, so that a leak can be found. */
export const canaries = {
  subscriptionKey: `key-${randomUUID()}`,
  authProviderName: `provider-${randomUUID()}`,
  authId: `caller-${randomUUID()}`,
} satisfies Credentials;

/** The bytes of an operation's call, written by hand, without the contract. */
interface Wire {
  readonly ids: Readonly<Record<string, string>>;
  /** A GraphQL operation that makes only this call. */
  readonly document: string;
  /** The request line's method and target. */
  readonly line: string;
  /** The request's body; empty for a request without one. */
  readonly sent: string;
  /** The bank's answer. */
  readonly reply: string;
  /** The part of the answer that the caller gets. */
  readonly answer: unknown;
}

type Given = readonly [credentials?: Credentials, ids?: Readonly<Record<string, string>>];

/** One call of an operation. Its ids may be replaced, by name. */
export interface SampleCall extends Wire {
  readonly operation: Operation;
  prepare(bank: BankClient, ...given: Given): Call<Operation>;
  /** Calls a read or a write; prepares and sends a payment. Returns the Track-ID. */
  run(
    bank: BankClient,
    ...given: Given
  ): Promise<{ readonly answer: unknown; readonly trackId: string | null }>;
}

const isOf = <K extends Kind>(kind: K, operation: Operation): operation is Operation & { readonly kind: K } =>
  operation.kind === kind;

function sampleOf(operation: Operation, wire: Wire): SampleCall {
  const body = wire.sent === '' ? undefined : parseExactJson(wire.sent);
  const inputOf = ([credentials = canaries, ids]: Given) =>
    ({ ids: { ...wire.ids, ...ids }, body, credentials }) as CallInput<Operation>;
  return {
    ...wire,
    operation,
    prepare: (bank, ...given) => bank.prepare(operation, inputOf(given)),
    async run(bank, ...given) {
      if (isOf('read', operation))
        return bank.reads.read(bank.prepare(operation, inputOf(given)), {}, 'result');
      if (isOf('write', operation)) return bank.write(operation, inputOf(given));
      const call = bank.prepare(operation, inputOf(given));
      const reply = await bank.send(call);
      return { answer: reply.body.toString('utf8'), trackId: call.trackId };
    },
  };
}

const inBank = { bankId: 'SNDBCY2N' };
const inView = { ...inBank, accountId: 'a 1', viewId: 'auditor' };
const bank = '/v1/api/banks/SNDBCY2N';
const view = `${bank}/accounts/a%201/auditor`;

const get = (selection: string) => `{ bank(bankId: "SNDBCY2N") { ${selection} } }`;
const account = (selection: string) => `account(accountId: "a 1", viewId: "auditor") { ${selection} }`;
const put = (field: string, input: string) =>
  `mutation { ${field}(input: { bankId: "SNDBCY2N", ${input} }) { __typename } }`;
const ofView = 'accountId: "a 1", viewId: "auditor"';

const wires: Readonly<Record<OperationId, Wire>> = {
  putCustomerID: {
    ids: { ...inBank, customerId: 'alice' },
    document: put(
      'putCustomer',
      'customerId: "alice", customer: { legalName: "Αλίκη", bankIds: ["B"], numericValues: [{ key: "k", value: "1.0" }] }',
    ),
    line: `PUT ${bank}/customers/alice`,
    sent: '{"legal_name":"Αλίκη","bank_id":["B"],"numeric_values":[{"key":"k","string":"1.0"}]}',
    reply: '{"legal_name":"Αλίκη","metadata":["m"]}',
    answer: { legal_name: 'Αλίκη', metadata: ['m'] },
  },
  putBranchID: {
    ids: { ...inBank, branchId: 'b-1' },
    document: put(
      'putBranch',
      'branchId: "b-1", branch: { acceptsDeposits: false, location: { latitude: 35.1, longitude: -33 } }',
    ),
    line: `PUT ${bank}/branches/b-1`,
    sent: '{"acceptsDeposits":false,"location":{"latitude":35.1,"longitude":-33}}',
    reply: '{"acceptsDeposits":false}',
    answer: { acceptsDeposits: false },
  },
  putTransactionsRequestAccount: {
    ids: { ...inView, TYPE: 'SANDBOX_TAN' },
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
  putAccountID: {
    ids: { ...inBank, accountId: 'a 1' },
    document: put(
      'putAccount',
      'accountId: "a 1", account: { balance: { currency: "EUR", amount: "9007199254740993.10" }, ownerIds: [] }',
    ),
    line: `PUT ${bank}/accounts/a%201`,
    sent: '{"balance":{"currency":"EUR","amount":9007199254740993.10},"owners":[]}',
    reply: '{"balance":{"amount":9007199254740993.10}}',
    answer: { balance: { amount: '9007199254740993.10' } },
  },
  postBranches: {
    ids: inBank,
    document: get('branches(filter: { id: "B", name: "東京" }) { totalCount }'),
    line: `POST ${bank}/branches`,
    sent: '{"id":"B","name":"東京"}',
    reply: '{"branches":[{"acceptsDeposits":true}]}',
    answer: [{ acceptsDeposits: true }],
  },
  postOtherAccounts: {
    ids: inView,
    document: get(account('otherAccounts(filter: { iban: "CY17" }) { totalCount }')),
    line: `POST ${view}/other_accounts`,
    sent: '{"IBAN":"CY17"}',
    reply: '{"otherAccounts":[{"bank":"B","id":"o"}]}',
    answer: [{ bank: 'B', id: 'o' }],
  },
  putProduct: {
    ids: inBank,
    document: put('putProduct', 'product: { bankIds: ["B"], meta: ["x"] }'),
    line: `PUT ${bank}/products`,
    sent: '{"bank_id":"B","meta":["x"]}',
    reply: '{"bank_id":["B"]}',
    answer: { bank_id: ['B'] },
  },
  postMakeTransaction: {
    ids: { ...inBank, accountId: 'a 1' },
    document: put(
      'makeTransaction',
      'accountId: "a 1", to: { accountId: "b" }, value: { currency: "EUR", amount: "1234567890123456789.000" }, idempotencyKey: "k"',
    ),
    line: `POST ${bank}/accounts/a%201/make-transaction`,
    sent: '{"from":{"account_id":"a 1","bank_id":"SNDBCY2N"},"to":{"account_id":"b"},"value":{"currency":"EUR","amount":1234567890123456789.000}}',
    reply: '',
    answer: '',
  },
  postMetadata: {
    ids: {},
    document: String.raw`{ metadata(id: "ID / with \\ anything ?") { totalCount } }`,
    line: 'POST /v1/api/metadata',
    sent: String.raw`{"id":"ID / with \\ anything ?"}`,
    reply: '{"metadata":[{"code":"c","text":{"name":"n"}}]}',
    answer: [{ code: 'c', text: { name: 'n' } }],
  },
  postProducts: {
    ids: inBank,
    document: get('products(filter: { id: "p" }) { totalCount }'),
    line: `POST ${bank}/products`,
    sent: '{"id":"p"}',
    reply: '{"product":[{"id":"p","bank_id":"B"}]}',
    answer: [{ id: 'p', bank_id: 'B' }],
  },
  putCustomerMessage: {
    ids: { ...inBank, customerId: 'alice' },
    document: put(
      'putCustomerMessage',
      String.raw`customerId: "alice", message: "Γειά \"b\"\n\u0000 日本 👋🏽 {\"amount\": 1e3}", fromDepartment: "d", fromPerson: "p"`,
    ),
    line: `PUT ${bank}/customer/alice/messages`,
    sent: String.raw`{"message":"Γειά \"b\"\n\u0000 日本 👋🏽 {\"amount\": 1e3}","from_department":"d","from_person":"p"}`,
    reply: '{"message":"a","date":"2025-11-20"}',
    answer: { message: 'a', date: '2025-11-20' },
  },
  putTransactions: {
    ids: { ...inView, transactionId: 't', TYPE: 'comment' },
    document: put(
      'putTransactionMetadata',
      `${ofView}, transactionId: "t", metadataType: "comment", transaction: { details: { approvedByIpAddress: "192.0.2.1", value: { amount: "-5.00" } } }`,
    ),
    line: `PUT ${view}/transactions/t/metadata/comment`,
    sent: '{"details":{"approved_by_ip_address":"192.0.2.1","value":{"amount":-5.00}}}',
    reply: '{"details":{"value":{"amount":-5.00}}}',
    answer: { details: { value: { amount: '-5.00' } } },
  },
  getAccountsScope: {
    ids: { ...inView, scope: 'views' },
    document: get(account('label')),
    line: `GET ${view}/views`,
    sent: '',
    reply: '{"accounts":[{"balance":{"currency":"EUR","amount":1.10}}]}',
    answer: [{ balance: { currency: 'EUR', amount: '1.10' } }],
  },
  getTransaction: {
    ids: { ...inView, transactionId: 't' },
    document: get(account('transaction(transactionId: "t") { uuid }')),
    line: `GET ${view}/transactions/t/transaction`,
    sent: '',
    reply: '{"id":"t","details":{"new_balance":{"amount":1e2}}}',
    answer: { id: 't', details: { new_balance: { amount: '1e2' } } },
  },
  getTransactionsRequest: {
    ids: inView,
    document: get(account('transactionRequests { totalCount }')),
    line: `GET ${view}/transaction-requests`,
    sent: '',
    reply: '{"transaction-requests":[{"body":{"value":{"amount":0.30}}}]}',
    answer: [{ body: { value: { amount: '0.30' } } }],
  },
  getCustomer: {
    ids: { ...inBank, customerId: 'alice' },
    document: get('customer(customerId: "alice") { email }'),
    line: `GET ${bank}/customers/alice`,
    sent: '',
    reply: '{"legal_name":"Alice","email":null}',
    answer: { legal_name: 'Alice', email: null },
  },
  getBranches: {
    ids: inBank,
    document: get('branches { totalCount }'),
    line: `GET ${bank}/branches`,
    sent: '',
    reply: '{"branches":[]}',
    answer: [],
  },
  getOtherAccounts: {
    ids: inView,
    document: get(account('otherAccounts { totalCount }')),
    line: `GET ${view}/other_accounts`,
    sent: '',
    reply: '{"otherAccounts":[{"bank":"B"}]}',
    answer: [{ bank: 'B' }],
  },
  getMessagesOwner: {
    ids: inBank,
    document: get('messages { totalCount }'),
    line: `GET ${bank}/customer/messages`,
    sent: '',
    reply: '{"messages":[{"message":"m"}]}',
    answer: [{ message: 'm' }],
  },
  getProduct: {
    ids: { ...inBank, productId: 'p' },
    document: get('product(productId: "p") { name }'),
    line: `GET ${bank}/products/p`,
    sent: '',
    reply: '{"id":"p","bank_id":["B"]}',
    answer: { id: 'p', bank_id: ['B'] },
  },
};

/** A call of each operation. */
export const sampleCalls = Object.fromEntries(
  Object.entries(wires).map(([id, wire]) => [id, sampleOf(operations[id as OperationId], wire)]),
) as Readonly<Record<OperationId, SampleCall>>;
