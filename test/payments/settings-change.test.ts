import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { openStore } from '../../src/payments/store/open-store.ts';
import type { PaymentStore } from '../../src/payments/store/store.ts';
import { createTestBankql, credentials, type TestOptions } from '../support/bankql.ts';
import {
  audience,
  claims,
  createKey,
  type Issuer,
  type IssuerKey,
  issuerName,
  sign,
  startIssuer,
} from '../support/issuer.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { requested } from '../support/requested.ts';
import { testFolder } from '../support/test-folder.ts';

/** Customers with verified identities; the operator gets a new subscription key. */

const pay = (amount: string) =>
  `mutation { pay: makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "${amount}" }, idempotencyKey: "key" }) {
    payment { id state trackId } userErrors { code } } }`;
const find = '{ payment(idempotencyKey: "key") { id state trackId } }';
const list =
  '{ payments { nodes { state trackId idempotencyKey } } unknown: payments(states: [UNKNOWN]) { totalCount } }';
const byId = (id: string) => `{ node(id: ${JSON.stringify(id)}) { ... on Payment { state trackId } } }`;

const folder = testFolder();
let key: IssuerKey;
let issuer: Issuer;
const tokenOf = (sub: string) => sign(key, claims({ sub, provider: credentials['Auth-Provider-Name'] }));
beforeAll(async () => {
  key = await createKey('ES256', 'k');
  issuer = await startIssuer(key);
});
afterAll(() => issuer[Symbol.asyncDispose]());

const withToken = (subscriptionKey: string): Partial<TestOptions> => ({
  identity: {
    ...{ subscriptionKey, jwksUrl: issuer.jwksUrl, issuer: issuerName, audience, algorithms: ['ES256'] },
    ...{ providerClaim: 'provider', authIdClaim: 'sub' },
  },
});
const ofProxy = (subscriptionKey: string): Partial<TestOptions> => ({
  authenticate: authenticateByHeaders(subscriptionKey, true),
});
const names = (authId: string) => ({
  'Auth-Provider-Name': credentials['Auth-Provider-Name'],
  'Auth-ID': authId,
});
const kinds = [
  ['jwt', withToken, async (sub: string) => ({ Authorization: `Bearer ${await tokenOf(sub)}` })],
  ['headers', ofProxy, async (sub: string) => names(sub)],
] as const;

test.each(kinds)(
  'with IDENTITY=%s, a new subscription key hides no payment',
  async (kind, under, headersOf) => {
    await using bank = await startRecordingBank();
    bank.otherwise({ status: 500, body: {} });
    const store = await openStore(`sqlite:${join(folder, kind)}`, { retentionMs: 86_400_000, create: true });
    const start = (options: Partial<TestOptions>) =>
      createTestBankql({ bankUrl: bank.url, store, ...options });
    const headers = await headersOf('alice');
    await using before = await start(under('old-key'));
    const paid = await before.ask(pay('1'), {}, headers);
    const trackId = bank.calls[0]?.headers['track-id'];
    expect(paid.data).toEqual({
      pay: {
        payment: { id: expect.any(String), state: 'UNKNOWN', trackId },
        userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
      },
    });
    const { id } = (paid.data as { pay: { payment: { id: string } } }).pay.payment;

    bank.otherwise({ body: { id: 'TX' } });
    await using after = await start(under('new-key'));
    expect((await after.ask(pay('1'), {}, headers)).data).toMatchObject({
      pay: { payment: { state: 'UNKNOWN', trackId }, userErrors: [{ code: 'OUTCOME_UNKNOWN' }] },
    });
    expect((await after.ask(pay('2'), {}, headers)).data).toMatchObject({
      pay: { userErrors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] },
    });
    expect((await after.ask(find, {}, headers)).data).toMatchObject({
      payment: { state: 'UNKNOWN', trackId },
    });
    expect(await after.ask(list, {}, headers)).toEqual({
      data: {
        payments: { nodes: [{ state: 'UNKNOWN', trackId, idempotencyKey: 'key' }] },
        unknown: { totalCount: 1 },
      },
    });
    expect(await after.ask(byId(id), {}, headers)).toEqual({ data: { node: { state: 'UNKNOWN', trackId } } });
    expect((await before.ask(list, {}, headers)).data).toMatchObject({
      payments: { nodes: [{ trackId, idempotencyKey: 'key' }] },
    });

    // No other caller sees the payment: neither another customer, nor an unverified caller with this customer's name and the new
    // subscription key.
    const others = await headersOf('bob');
    await using claiming = await start({});
    for (const [server, asked] of [
      [after, others],
      [claiming, { ...names('alice'), 'Ocp-Apim-Subscription-Key': 'new-key' }],
    ] as const) {
      expect((await server.ask(list, {}, asked)).data).toMatchObject({ payments: { nodes: [] } });
      expect((await server.ask(byId(id), {}, asked)).data).toEqual({ node: null });
    }
    expect((await after.ask(find, {}, others)).data).toEqual({ payment: null });
    expect(
      (await claiming.ask(find, {}, { ...names('alice'), 'Ocp-Apim-Subscription-Key': 'new-key' })).errors,
    ).toMatchObject([{ extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } }]);
    expect(bank.calls).toHaveLength(1);
    await store.close();
  },
);

test('a record of an unverified caller, as of an earlier version, belongs to its customer, and is never sent again', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise({ body: { id: 'TX' } });
  const store = await openStore(`sqlite:${join(folder, 'claimed')}`, {
    retentionMs: 86_400_000,
    create: true,
  });
  await using claiming = await createTestBankql({ bankUrl: bank.url, store });
  await claiming.ask(pay('1'), {}, { ...names('alice'), 'Ocp-Apim-Subscription-Key': 'old-key' });
  const trackId = bank.calls[0]?.headers['track-id'];
  for (const key of ['old-key', 'new-key']) {
    await using proven = await createTestBankql({ bankUrl: bank.url, store, ...withToken(key) });
    const headers = { Authorization: `Bearer ${await tokenOf('alice')}` };
    expect((await proven.ask(pay('1'), {}, headers)).data).toMatchObject({
      pay: { payment: { state: 'DONE', trackId }, userErrors: [] },
    });
    expect((await proven.ask(list, {}, headers)).data).toMatchObject({ payments: { nodes: [{ trackId }] } });
  }
  expect(bank.calls).toHaveLength(1);
  await store.close();
});

describe('a repeat at a bankql with other settings', () => {
  /** What docs/operate.md says about repeating a payment at a bankql with other settings. */

  const pay = `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "1" }, idempotencyKey: "key" }) {
  replayed userErrors { code } } }`;
  const request = `mutation { putTransactionRequest(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "1" },
  transactionRequestType: "SEPA", idempotencyKey: "key" }) { replayed } }`;
  const find = '{ payment(idempotencyKey: "key") { state } }';

  let bank: RecordingBank;
  let store: PaymentStore;
  beforeAll(async () => {
    bank = await startRecordingBank();
  });
  afterAll(() => bank.close());
  beforeEach(async () => {
    bank.calls.length = 0;
    bank.otherwise({ body: { id: 'TX' } });
    store = await createMemoryStore({ retentionMs: 86_400_000 });
  });

  /** Sends a document to a bankql with these settings and the same store. */
  async function ask(document: string, options: Partial<TestOptions>, headers: Record<string, string>) {
    await using bankql = await createTestBankql({ bankUrl: bank.url, store, ...options });
    return await bankql.ask(document, {}, headers);
  }
  const paid = { makeTransaction: { replayed: false, userErrors: [] } };
  const keyReused = { makeTransaction: { userErrors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] } };

  test.each([
    ['BANK_ID', { bankId: 'OTHER', viewId: 'owner' }],
    ['BANK_DEFAULT_VIEW', { bankId: 'BANK', viewId: 'other' }],
  ])('another %s: the repeat of a request that does not name it is refused', async (_, defaults) => {
    bank.otherwise((call) => ({ body: requested(call) }));
    expect((await ask(request, {}, credentials)).data).toEqual({
      putTransactionRequest: { replayed: false },
    });
    const repeated = await ask(request, { defaults }, credentials);
    expect(repeated.errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(bank.calls).toHaveLength(1);
  });

  test('another BANK_SUBSCRIPTION_KEY without IDENTITY: the repeat is refused, and its caller cannot look', async () => {
    const { 'Ocp-Apim-Subscription-Key': _, ...names } = credentials;
    const withKey = (key: string) => ({ authenticate: authenticateByHeaders(key) });
    const [before, after] = [withKey('old-key'), withKey('new-key')];
    expect((await ask(pay, before, names)).data).toMatchObject(paid);
    expect((await ask(pay, after, names)).data).toMatchObject(keyReused);
    expect((await ask(find, after, names)).errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(bank.calls).toHaveLength(1);
  });

  describe('another name of the same caller: the repeat is a new payment', () => {
    interface Change {
      readonly issuer?: string;
      readonly providerClaim?: string;
      readonly authIdClaim?: string;
    }
    const named = (change: Change) => ({
      identity: {
        ...{ subscriptionKey: 'key', jwksUrl: issuer.jwksUrl, audience, algorithms: ['ES256'] },
        ...{ issuer: issuerName, providerClaim: 'iss', authIdClaim: 'sub', ...change },
      },
    });
    const headersOf = async (iss: string) => ({
      Authorization: `Bearer ${await sign(key, claims({ iss, provider: 'provider', customer: 'customer' }))}`,
    });

    test.each<[string, Change]>([
      ['the claim of the provider (IDENTITY_CLAIMS)', { providerClaim: 'provider' }],
      ['the claim of the customer (IDENTITY_CLAIMS)', { authIdClaim: 'customer' }],
      ['IDENTITY_ISSUER, whose name is the provider', { issuer: 'https://login.other.example/' }],
    ])('by %s', async (_, change) => {
      expect((await ask(pay, named({}), await headersOf(issuerName))).data).toMatchObject(paid);
      const headers = await headersOf(change.issuer ?? issuerName);
      expect((await ask(pay, named(change), headers)).data).toMatchObject(paid);
      expect(bank.calls).toHaveLength(2);
    });
  });
});
