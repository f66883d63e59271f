import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentStore } from '../../src/payments/store.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { authenticateByHeaders } from '../../src/server/auth/header-credentials.ts';
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

/** What docs/operate.md says of a payment that is repeated at a bankql with other settings. */

const pay = `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "1" }, idempotencyKey: "key" }) {
  replayed userErrors { code } } }`;
const request = `mutation { putTransactionRequest(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "1" },
  transactionRequestType: "SEPA", idempotencyKey: "key" }) { replayed } }`;
const find = '{ payment(idempotencyKey: "key") { state } }';

let bank: RecordingBank;
let issuer: Issuer;
let key: IssuerKey;
let store: PaymentStore;
beforeAll(async () => {
  bank = await startRecordingBank();
  key = await createKey('ES256', 'k');
  issuer = await startIssuer(key);
});
afterAll(async () => {
  await bank.close();
  await issuer[Symbol.asyncDispose]();
});
beforeEach(async () => {
  bank.calls.length = 0;
  bank.otherwise({ body: { id: 'TX' } });
  store = await createMemoryStore({ retentionMs: 86_400_000 });
});

/** Asks a bankql of these settings over the same store. */
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
  bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
  expect((await ask(request, {}, credentials)).data).toEqual({ putTransactionRequest: { replayed: false } });
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
    ['IDENTITY_PROVIDER_CLAIM', { providerClaim: 'provider' }],
    ['IDENTITY_AUTH_ID_CLAIM', { authIdClaim: 'customer' }],
    ['IDENTITY_ISSUER, whose name is the provider', { issuer: 'https://login.other.example/' }],
  ])('by %s', async (_, change) => {
    expect((await ask(pay, named({}), await headersOf(issuerName))).data).toMatchObject(paid);
    const headers = await headersOf(change.issuer ?? issuerName);
    expect((await ask(pay, named(change), headers)).data).toMatchObject(paid);
    expect(bank.calls).toHaveLength(2);
  });
});
