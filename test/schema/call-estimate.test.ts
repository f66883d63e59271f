import fc from 'fast-check';
import { getOperationAST, getVariableValues, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { pathOf } from '../../src/bank/request.ts';
import { operations } from '../../src/contract/operations.ts';
import { fragmentsOf } from '../../src/executor/selection.ts';
import { type EstimatedCall, estimateCalls } from '../../src/schema/call-estimate.ts';
import { encodeGlobalId } from '../../src/schema/global-id.ts';
import { schema } from '../../src/schema/schema.ts';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { generatedOperation } from '../support/generated-operation.ts';

/** Who is logged in, the account and the customer that other fields name too. */
const viewer = { customerId: validateViewerTemplate('A'), accountId: validateViewerTemplate('A') };

type Variables = Readonly<Record<string, unknown>>;

/** The plan for bank `BANK` and view `owner`. */
function plan(text: string, variables: Variables = {}, maxCalls = Infinity): readonly EstimatedCall[] {
  const document = parse(text);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('no operation');
  const { variableValues } = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (variableValues === undefined) throw new Error('variables that do not fit');
  return estimateCalls({
    schema,
    operation,
    variableValues,
    fragments: fragmentsOf(document),
    defaults: { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL', viewer },
    credentials: { subscriptionKey: 'K', authProviderName: 'P', authId: 'A' },
    maxCalls,
  });
}

/** Lines such as "getCustomer BANK C". */
const linesOf = (text: string, variables?: Variables) =>
  plan(text, variables).map(({ operation, key }) => [operation.id, ...Object.values(key.ids)].join(' '));

const bank = (selection: string) => `{ bank { ${selection} } }`;
const account = (selection: string) => bank(`account(accountId: "A") { ${selection} }`);
const read = 'getAccountsScope BANK A owner views';
const id = (name: string, ...key: unknown[]) => encodeGlobalId(name, JSON.stringify(key));

describe('a plan', () => {
  test.each<[string, string, string[]]>([
    [
      'nothing for what no bank is asked',
      '{ __typename bank { id bankId } payment(idempotencyKey: "k") { state } }',
      [],
    ],
    ['nothing for a link whose ids answer', account('id accountId bank { bankId }'), []],
    ['a record for a link whose ids do not', account('label iban'), [read]],
    [
      'a record that is named twice once',
      bank('a: account(accountId: "A") { label } b: account(accountId: "A", viewId: "owner") { iban }'),
      [read],
    ],
    [
      'a record that two banks name once',
      `{ bank { customer(customerId: "C") { email } } other: bank(bankId: "BANK") { customer(customerId: "C") { email } } }`,
      ['getCustomer BANK C'],
    ],
    [
      'records of two banks',
      '{ bank { messages { totalCount } } other: bank(bankId: "B2") { messages { totalCount } } }',
      ['getMessagesOwner BANK', 'getMessagesOwner B2'],
    ],
    [
      'a list and look-ups in it once',
      bank('x: branch(branchId: "X") { name } y: branch(branchId: "Y") { name } branches { totalCount }'),
      ['getBranches BANK'],
    ],
    ['a look-up of which the ids are enough as nothing', bank('branch(branchId: "X") { branchId }'), []],
    [
      'lists with different queries',
      bank(
        'a: branches(filter: { id: "A" }) { totalCount } b: branches(filter: { id: "B" }) { totalCount } c: branches { totalCount }',
      ),
      ['postBranches BANK', 'postBranches BANK', 'getBranches BANK'],
    ],
    [
      'what hangs on ids below a record',
      account(
        'label transactionRequests { totalCount } transaction(transactionId: "T") { uuid account { iban } }',
      ),
      [read, 'getTransactionsRequest BANK A owner', 'getTransaction BANK A owner T'],
    ],
    [
      'what hangs on a bank below a record',
      bank('customer(customerId: "C") { email bank { messages { totalCount } } }'),
      ['getCustomer BANK C', 'getMessagesOwner BANK'],
    ],
    ['nothing that hangs on a record', account('label owners { email }'), [read]],
    [
      'nothing that hangs on an entry',
      account('transactionRequests { nodes { from { account { label } } transactions { uuid } } }'),
      ['getTransactionsRequest BANK A owner'],
    ],
    [
      'a scope of its own',
      bank('accounts(accountId: "A", scope: PERMISSIONS) { totalCount } account(accountId: "A") { label }'),
      ['getAccountsScope BANK A owner permissions', read],
    ],
    ['metadata', '{ metadata(id: "M") { totalCount } }', ['postMetadata']],
    [
      'what hangs on the viewer, with what others name too once',
      '{ viewer { customer { customerId email } account { label } accounts { totalCount } messages { totalCount } } bank { account(accountId: "A") { iban } customer(customerId: "A") { legalName accounts { totalCount } messages { totalCount } } } }',
      ['getCustomer BANK A', read, 'getAccountsScope BANK A owner permissions', 'getMessagesOwner BANK'],
    ],
    [
      'nothing for the ids of the viewer',
      '{ viewer { customer { id customerId } account { accountId } } }',
      [],
    ],
    ['nothing of another customer', bank('customer(customerId: "C") { accounts { totalCount } }'), []],
    [
      'another view, and the accounts of a scope',
      account('view(viewId: "public") { label } accounts { totalCount }'),
      ['getAccountsScope BANK A public views', 'getAccountsScope BANK A owner permissions'],
    ],
    [
      'the requests in which that of a transaction is looked for once',
      account('transactionRequests { totalCount } transaction(transactionId: "T") { bank { bankId } }'),
      ['getTransactionsRequest BANK A owner'],
    ],
    [
      'the one list that branches are looked for in',
      bank(
        'a: branches(near: { latitude: 1, longitude: 1, radiusKm: 1 }) { totalCount } b: branches(search: "N") { totalCount }',
      ),
      ['getBranches BANK'],
    ],
    [
      'the one list that counterparties are looked for in',
      account(
        'otherAccounts(filter: { id: "X" }) { totalCount } otherAccount(otherAccountId: "IBAN") { kind }',
      ),
      ['getOtherAccounts BANK A owner'],
    ],
    [
      'nothing for a bad id',
      bank('customer(customerId: "..") { email } messages(first: -1) { totalCount }'),
      [],
    ],
    [
      'the rest beside a bad id',
      bank('customer(customerId: "..") { email } messages { totalCount }'),
      ['getMessagesOwner BANK'],
    ],
  ])('holds %s', (_, document, lines) => {
    expect(linesOf(document).sort()).toEqual([...lines].sort());
  });

  test('follows a node by its type', () => {
    const document =
      'query($id: ID!) { node(id: $id) { id ... on Account { label } ... on Customer { customerId } } }';
    expect(linesOf(document, { id: id('Account', 'BANK', 'A', 'owner') })).toEqual([read]);
    expect(linesOf(document, { id: id('Customer', 'BANK', 'C') })).toEqual([]);
    expect(linesOf(document, { id: id('Account', 'BANK', '..', 'owner') })).toEqual([]);
    expect(linesOf(document, { id: 'forged' })).toEqual([]);
    const requests =
      'query($id: ID!) { node(id: $id) { ... on TransactionRequest { status } ... on Payment { state } } }';
    expect(linesOf(requests, { id: id('TransactionRequest', 'BANK', 'A', 'owner', '/r') })).toEqual([
      'getTransactionsRequest BANK A owner',
    ]);
    expect(linesOf(requests, { id: id('Payment', 'track', 'sealed') })).toEqual([]);
  });

  test('counts each distinct one of nodes, and a forged one as nothing', () => {
    const ids = ['C1', 'C2', 'C1'].map((customerId) => id('Customer', 'BANK', customerId));
    expect(
      linesOf('query($ids: [ID!]!) { nodes(ids: $ids) { ... on Customer { email } } }', {
        ids: ['forged', ...ids],
      }),
    ).toEqual(['getCustomer BANK C1', 'getCustomer BANK C2']);
  });

  test('goes through fragments, @skip and @include with their variables', () => {
    const document = `query($yes: Boolean!) { bank { ...F messages @skip(if: $yes) { totalCount } } }
      fragment F on Bank { ... on Bank @include(if: $yes) { ...G } ... on Node { id } }
      fragment G on Bank { customer(customerId: "C") { email ...H } }
      fragment H on Customer { legalName }`;
    expect(linesOf(document, { yes: true })).toEqual(['getCustomer BANK C']);
    expect(linesOf(document, { yes: false })).toEqual(['getMessagesOwner BANK']);
  });

  test('holds each write, in its order, and what is read anew behind it', () => {
    const put = (name: string) =>
      `${name}: putAccount(input: { accountId: "A", account: { balance: {} } }) { account { label accountId } }`;
    expect(linesOf(`mutation { ${put('a')} ${put('b')} }`)).toEqual([
      'putAccountID BANK A',
      read,
      'putAccountID BANK A',
      read,
    ]);
  });

  test('counts anew behind each write what one fragment selects of both payloads', () => {
    const put = 'putAccount(input: { accountId: "A", account: { balance: {} } }) { ...F }';
    const document = `mutation { a: ${put} b: ${put} }
      fragment F on PutAccountPayload { account { label } }`;
    expect(linesOf(document)).toEqual(['putAccountID BANK A', read, 'putAccountID BANK A', read]);
  });

  test('holds a write alone where its payload is its answer', () => {
    const document = `mutation { putCustomer(input: { customerId: "C", customer: {} }) {
      trackId customer { email bankIds banks { messages { totalCount } } } } }`;
    expect(linesOf(document)).toEqual(['putCustomerID BANK C']);
  });

  test('holds a payment, and the accounts that it names', () => {
    const document = (key: string) => `mutation { makeTransaction(input: {
      accountId: "A", to: { accountId: "B" }, value: { amount: 1 }, idempotencyKey: "${key}"
    }) { payment { account { label } to { accountId account(viewId: "public") { label } } } } }`;
    expect(linesOf(document('k'))).toEqual([
      'postMakeTransaction BANK A',
      read,
      'getAccountsScope BANK B public views',
    ]);
    expect(linesOf(document(''))).toEqual([]);
  });

  test('counts each distinct node once, and looks no further than it is told', () => {
    const document = (links: number) =>
      `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Account { label ${Array.from(
        { length: links },
        (_, index) => `t${index}: transaction(transactionId: "${index}") { uuid account { iban } }`,
      ).join(' ')} } } }`;
    const ids = Array.from({ length: 100 }, (_, index) => id('Account', 'BANK', `A${index % 80}`, 'owner'));
    expect(plan(document(29), { ids }).length).toBe(80 * 30);
    expect(plan(document(29), { ids }, 500).length).toBe(501);
  });
});

/** Whether a list that arrived brought what is asked for alone: it is not asked for where the list was there before. */
const isListed = (line: string, arrived: readonly string[]) =>
  arrived.includes(line.replace(/\/views$/, '/permissions').replace(/^GET (.*\/branches)$/, 'POST $1'));

describe('a plan and the calls that arrive at a bank that has what is asked for', () => {
  /** What the generated operations planned. */
  const planned = new Set<string>();
  const documentLimits = {
    tokens: 1e6,
    depth: 100,
    aliases: 1e6,
    rootFields: 1e6,
    directives: 1e6,
    fields: 1e6,
  };
  test.each([
    ['are the same where nothing hangs on a record', true],
    ['are no fewer calls than planned where something does', false],
  ])('%s', async (_, determined) => {
    const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL', viewer };
    await using fixture = await startBankqlFixture({ documentLimits, defaults });
    fixture.bank.otherwise(anyAnswer);
    await fc.assert(
      fc.asyncProperty(generatedOperation({ determined }), async ({ document, variables }) => {
        fixture.bank.calls.length = 0;
        const result = await fixture.ask(document, variables);
        const codes = new Set(
          result.errors?.map(({ extensions, message }) => `${extensions.code} ${message}`),
        );
        expect([...codes].filter((code) => !/^(BAD_USER_INPUT|BANK_BAD_RESPONSE)/.test(code))).toEqual([]);
        const calls = plan(document, variables);
        for (const { operation } of calls) planned.add(operation.id);
        // A `pay` that fails without its userErrors being selected ends the operation.
        if (result.data === null) return;
        const arrived = fixture.bank.lines();
        for (const { operation, key } of calls) {
          const line = `${operation.method} ${pathOf(operation, key.ids)}`;
          if (!arrived.includes(line) && isListed(line, fixture.bank.lines())) continue;
          expect(arrived).toContain(line);
          arrived.splice(arrived.indexOf(line), 1);
        }
        if (determined) expect(arrived, 'calls of fields without `estimate` or `prefetch`').toEqual([]);
      }),
      { seed: 20_261_120, numRuns: 200, endOnFailure: true },
    );
  });
  test('call every operation', () => {
    expect([...planned].sort()).toEqual(Object.keys(operations).sort());
  });
});
