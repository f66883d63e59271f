import { exportSPKI, importJWK, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { credentialHeaders } from '../../../src/bank/credentials.ts';
import type { JwtOptions, TokenRefusal } from '../../../src/http/auth/jwt-options.ts';
import { validateViewerTemplate } from '../../../src/schema/viewer-template.ts';
import { createTestBankql, type TestBankql } from '../../support/bankql.ts';
import {
  audience,
  claims,
  createKey,
  encoded,
  type Issuer,
  type IssuerKey,
  inSeconds,
  issuerName,
  sign,
  startIssuer,
} from '../../support/issuer.ts';
import { type RecordingBank, startRecordingBank } from '../../support/recording-bank.ts';
import { postOf } from '../../support/requests.ts';

let rsa: IssuerKey;
let others: IssuerKey[];
beforeAll(async () => {
  rsa = await createKey('RS256', 'rsa');
  others = await Promise.all([
    createKey('ES256', 'ec'),
    createKey('PS256', 'pss'),
    createKey('EdDSA', 'ed'),
    createKey('ES384', 'not allowed'),
  ]);
});

let bank: RecordingBank;
let issuer: Issuer;
let bankql: TestBankql;
/** The reasons for which tokens were refused; they contain no part of the token. */
const refusals: TokenRefusal[] = [];
const identity = (more: Partial<JwtOptions> = {}): JwtOptions => ({
  ...issuer.options,
  algorithms: ['RS256', 'ES256', 'PS256', 'EdDSA'],
  ...more,
});
beforeEach(async () => {
  bank = (await startRecordingBank()).otherwise({ body: { messages: [] } });
  issuer = await startIssuer(rsa, ...others);
  refusals.length = 0;
  const onTokenRefusal = (why: TokenRefusal) => void refusals.push(why);
  bankql = await createTestBankql({ bankUrl: bank.url, identity: identity(), onTokenRefusal });
});
afterEach(async () => {
  await bankql[Symbol.asyncDispose]();
  await bank.close();
  await issuer[Symbol.asyncDispose]();
});

const query = JSON.stringify({ query: '{ bank { messages { totalCount } } }' });

function post(token: string | null, { headers = {}, search = '', body = query, to = bankql } = {}) {
  const authorization: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  return to.fetch(
    new Request(`http://bankql.test/graphql${search}`, postOf(body, { ...authorization, ...headers })),
  );
}

describe('a valid token', () => {
  test('identifies the caller; the bank gets its claims and the operator’s key, and not the token', async () => {
    const token = await sign(rsa);
    expect(await (await post(token)).json()).toEqual({ data: { bank: { messages: { totalCount: 0 } } } });
    expect(bank.calls).toHaveLength(1);
    const [{ headers } = { headers: {} }] = bank.calls;
    expect(headers).toMatchObject({
      'ocp-apim-subscription-key': 'operator-key',
      'auth-provider-name': issuerName,
      'auth-id': 'alice',
    });
    expect(JSON.stringify(bank.calls)).not.toContain(token.slice(-40));
  });

  test('may be signed with each allowed algorithm', async () => {
    for (const key of others.slice(0, 3)) expect((await post(await sign(key))).status).toBe(200);
    expect(bank.calls).toHaveLength(3);
    expect(issuer.asked()).toBe(1);
  });

  test('may have several audiences, and a clock that differs by a minute', async () => {
    for (const more of [
      { aud: ['other', audience] },
      { exp: inSeconds(-50) },
      { nbf: inSeconds(50) },
      { iat: inSeconds(50) },
    ])
      expect((await post(await sign(rsa, claims(more)))).status).toBe(200);
  });

  test('identifies the caller by the configured claims', async () => {
    const named = { providerClaim: 'bank_provider', authIdClaim: 'https://bank.example/customer' };
    await using own = await createTestBankql({ bankUrl: bank.url, identity: identity(named) });
    const token = await sign(rsa, claims({ bank_provider: 'p', 'https://bank.example/customer': 'c-1' }));
    expect((await post(token, { to: own })).status).toBe(200);
    expect(bank.calls[0]?.headers).toMatchObject({ 'auth-provider-name': 'p', 'auth-id': 'c-1' });
    expect((await post(await sign(rsa), { to: own })).status).toBe(401);
  });

  test('may identify the caller by a number', async () => {
    expect((await post(await sign(rsa, claims({ sub: 4711 })))).status).toBe(200);
    expect(bank.calls[0]?.headers).toMatchObject({ 'auth-id': '4711' });
  });

  test('is refused with the name of a configured claim that it lacks', async () => {
    const named = { authIdClaim: 'client\u00e8le"' };
    await using own = await createTestBankql({ bankUrl: bank.url, identity: identity(named) });
    const answer = await post(await sign(rsa), { to: own });
    expect(await answer.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('its claim client\u00e8le" is missing') }],
    });
    expect(answer.headers.get('www-authenticate')).toContain('its claim client?le? is missing');
  });

  test('may be 8,192 characters long', async () => {
    const room = 8192 - (await sign(rsa, claims({ more: '' }))).length;
    const token = await sign(rsa, claims({ more: 'x'.repeat(Math.floor(room / 4) * 3) }));
    expect(token.length).toBeGreaterThan(8180);
    expect((await post(token)).status).toBe(200);
  });

  test('identifies the customer of `viewer` by the claims in a template', async () => {
    const viewer = {
      customerId: validateViewerTemplate('{claim:customer}'),
      accountId: validateViewerTemplate('{claim:account}-{auth-id}'),
    };
    const defaults = { bankId: 'BANK', viewId: 'owner', viewer };
    await using own = await createTestBankql({
      bankUrl: bank.url,
      identity: identity({ claims: ['customer', 'account'] }),
      defaults,
    });
    const body = JSON.stringify({ query: '{ viewer { customer { customerId } account { accountId } } }' });
    const viewerOf = async (more: object) =>
      (await post(await sign(rsa, claims({ ...more })), { to: own, body })).json();
    expect(await viewerOf({ customer: 'c-1', account: 12 })).toEqual({
      data: { viewer: { customer: { customerId: 'c-1' }, account: { accountId: '12-alice' } } },
    });
    expect(await viewerOf({ customer: 'c-1', account: { id: 'a' } })).toMatchObject({
      data: { viewer: { customer: { customerId: 'c-1' }, account: null } },
      errors: [{ message: expect.stringContaining('the token has no claim account') }],
    });
    expect(await viewerOf({ customer: '../c-1' })).toMatchObject({
      data: { viewer: null },
      errors: [{ extensions: { code: 'BAD_USER_INPUT' } }],
    });
    expect(bank.calls).toEqual([]);
  });
});

describe('IDENTITY_PAYMENT_SCOPE', () => {
  const input =
    '{ accountId: "A", to: { accountId: "B" }, value: { amount: "1", currency: "EUR" }, idempotencyKey: "key"';
  const payload = 'payment { state } userErrors { code message } }';
  const payments = [
    `mutation { paid: makeTransaction(input: ${input.replace(', currency: "EUR"', '')} }) { ${payload} }`,
    `mutation { paid: putTransactionRequest(input: ${input}, transactionRequestType: "SEPA" }) { ${payload} }`,
  ];
  const start = (paymentScope: string | null = 'payments') =>
    createTestBankql({ bankUrl: bank.url, identity: identity({ paymentScope }) });
  const headersOf = async (scopes: object) => ({
    Authorization: `Bearer ${await sign(rsa, claims({ ...scopes }))}`,
  });

  test.each<[string, object]>([
    ['none', {}],
    ['other words', { scope: 'openid payments:read', scp: ['pay'] }],
    ['a longer word', { scope: 'xpayments', scp: 'payments.write' }],
    ['another case', { scope: 'Payments' }],
    ['a list of which no entry is it', { scp: ['openid payments', ['payments'], null, 1] }],
    ['no text', { scope: { payments: true }, scp: null }],
  ])('a token whose scope has %s can read, and cannot pay', async (_, scopes) => {
    await using own = await start();
    const headers = await headersOf(scopes);
    for (const payment of payments)
      expect(await own.ask(payment, {}, headers)).toEqual({
        data: {
          paid: {
            payment: null,
            userErrors: [
              { code: 'FORBIDDEN', message: expect.stringContaining('This request sent nothing.') },
            ],
          },
        },
      });
    expect([bank.calls, own.audit]).toEqual([[], []]);
    expect(
      await own.ask('{ payment(idempotencyKey: "key") { state } payments { totalCount } }', {}, headers),
    ).toEqual({
      data: { payment: null, payments: { totalCount: 0 } },
    });
    expect((await own.ask('{ bank { messages { totalCount } } }', {}, headers)).errors).toBeUndefined();
  });

  test.each<[string, object]>([
    ['a text', { scope: 'payments' }],
    ['a text with blanks', { scope: 'openid payments profile' }],
    ['a list', { scope: ['openid', 'payments'] }],
    ['scp as a text', { scp: 'openid payments' }],
    ['scp as a list', { scope: 'openid', scp: ['payments'] }],
  ])('a token with the scope pays, also with a key that was refused before: %s', async (_, scopes) => {
    await using own = await start();
    bank.otherwise({ body: { id: 'TX' } });
    const [transfer = ''] = payments;
    await own.ask(transfer, {}, await headersOf({}));
    expect(await own.ask(transfer, {}, await headersOf(scopes))).toEqual({
      data: { paid: { payment: { state: 'DONE' }, userErrors: [] } },
    });
    // A repeated request pays nothing, but it gets the answer of a payment, so it needs the scope as well.
    expect(await own.ask(transfer, {}, await headersOf({}))).toMatchObject({
      data: { paid: { userErrors: [{ code: 'FORBIDDEN' }] } },
    });
    expect(bank.calls).toHaveLength(1);
  });

  test('is not set: each token can pay', async () => {
    await using own = await start(null);
    bank.otherwise({ body: { id: 'TX' } });
    expect(await own.ask(payments[0] ?? '', {}, await headersOf({}))).toMatchObject({
      data: { paid: { payment: { state: 'DONE' } } },
    });
  });
});

/** Invalid tokens, and how they are created. */
const bad: readonly (readonly [string, () => string | Promise<string>, TokenRefusal])[] = [
  ['of another issuer', () => sign(rsa, claims({ iss: 'https://evil.example/' })), 'claims'],
  ['of nobody', () => sign(rsa, claims({ iss: undefined })), 'claims'],
  ['for another audience', () => sign(rsa, claims({ aud: 'another-app' })), 'claims'],
  ['for nobody', () => sign(rsa, claims({ aud: undefined })), 'claims'],
  ['that nobody signed (alg none)', () => `${encoded({ alg: 'none' })}.${encoded(claims())}.`, 'algorithm'],
  [
    'with alg none and a key',
    () => `${encoded({ alg: 'none', kid: 'rsa' })}.${encoded(claims())}.`,
    'algorithm',
  ],
  [
    'signed with the public key as a secret (HS256, PEM)',
    async () => signHs256(await exportSPKI(await publicKeyOf(rsa))),
    'algorithm',
  ],
  [
    'signed with the public key as a secret (HS256, JWK)',
    () => signHs256(JSON.stringify(rsa.jwk)),
    'algorithm',
  ],
  ['signed with an algorithm that is not allowed', () => sign(others[3] ?? rsa), 'algorithm'],
  ['signed with a key of another algorithm', () => sign({ ...rsa, kid: 'ec' }), 'key'],
  ['with a key of nobody', async () => sign(await createKey('RS256', 'stranger')), 'key'],
  ['with another’s key under a known name', async () => sign(await createKey('RS256', 'rsa')), 'signature'],
  ['that brings its own key', async () => signWithOwnKey(), 'key'],
  ['that has expired', () => sign(rsa, claims({}, -61)), 'expired'],
  ['that never expires', () => sign(rsa, claims({ exp: undefined })), 'claims'],
  ['whose end is a text', () => sign(rsa, claims({ exp: '9999999999' })), 'claims'],
  ['that is not valid yet', () => sign(rsa, claims({ nbf: inSeconds(70) })), 'claims'],
  ['without the claim', () => sign(rsa, claims({ sub: undefined })), 'claims'],
  ['whose claim is no integer', () => sign(rsa, claims({ sub: 7.5 })), 'claims'],
  ['whose claim has more digits than JSON keeps', () => sign(rsa, claims({ sub: 2 ** 53 })), 'claims'],
  ['whose claim is a list', () => sign(rsa, claims({ sub: ['alice'] })), 'claims'],
  ['whose claim is null', () => sign(rsa, claims({ sub: null })), 'claims'],
  ['whose claim is empty', () => sign(rsa, claims({ sub: '' })), 'claims'],
  ['whose claim breaks lines', () => sign(rsa, claims({ sub: 'alice\r\nAuth-ID: bob' })), 'claims'],
  ['whose claim is too long', () => sign(rsa, claims({ sub: 'x'.repeat(256) })), 'claims'],
  ['whose claim is not plain', () => sign(rsa, claims({ sub: 'Αλίκη' })), 'claims'],
  ['whose claim has outer white space', () => sign(rsa, claims({ sub: 'alice ' })), 'claims'],
  [
    'with other claims than were signed',
    async () => (await sign(rsa)).replace(/\.[^.]+\./, `.${encoded(claims({ sub: 'bob' }))}.`),
    'signature',
  ],
  ['without its signature', async () => (await sign(rsa)).replace(/[^.]+$/, ''), 'signature'],
  ['with a header that must be understood', () => signCritical(), 'malformed'],
  ['that is no token', () => 'canary-canary-canary', 'malformed'],
  ['that is bound to a key', () => sign(rsa, claims({ cnf: { jkt: 'x' } })), 'bound to its sender'],
  [
    'that is bound to a certificate',
    () => sign(rsa, claims({ cnf: { 'x5t#S256': 'x' } })),
    'bound to its sender',
  ],
  ['that is bound in another way', () => sign(rsa, claims({ cnf: 'x' })), 'bound to its sender'],
  ['that is too long', () => sign(rsa, claims({ more: 'x'.repeat(6200) })), 'too long'],
];

/** The message about a claim, for the holder of a token with a valid signature. */
const claimMessage = (claim: string) =>
  `The bearer token is not accepted: its claim ${claim} is missing or not the one that this server expects.`;
const bound = 'The bearer token is bound to its sender (cnf), and this server cannot check that.';
const told: Readonly<Record<string, string>> = {
  'of another issuer': claimMessage('iss'),
  'of nobody': claimMessage('iss'),
  'for another audience': claimMessage('aud'),
  'for nobody': claimMessage('aud'),
  'that has expired': 'The bearer token has expired; get a new one.',
  'that never expires': claimMessage('exp'),
  'whose end is a text': claimMessage('exp'),
  'that is not valid yet': claimMessage('nbf'),
  'without the claim': claimMessage('sub'),
  'that is bound to a key': `${bound} jkt: DPoP is not read.`,
  'that is bound to a certificate': `${bound} x5t#S256: let the proxy verify the token, and use IDENTITY=headers.`,
  'that is bound in another way': bound,
  'that is too long': 'The bearer token is longer than 8192 characters; get one with fewer claims.',
};

const publicKeyOf = async ({ jwk }: IssuerKey) => {
  const key = await importJWK(jwk, 'RS256', { extractable: true });
  if (key instanceof Uint8Array) throw new Error('no public key');
  return key;
};
const signHs256 = (secret: string) =>
  new SignJWT(claims())
    .setProtectedHeader({ alg: 'HS256', kid: 'rsa' })
    .sign(new TextEncoder().encode(secret));
const signWithOwnKey = async () => {
  const { privateKey, jwk } = await createKey('RS256', 'own');
  return new SignJWT(claims())
    .setProtectedHeader({ alg: 'RS256', jwk, jku: 'https://evil.example/keys' })
    .sign(privateKey);
};
const signCritical = () =>
  new SignJWT(claims())
    .setProtectedHeader({ alg: 'RS256', kid: 'rsa', crit: ['x'], x: true })
    .sign(rsa.privateKey, { crit: { x: true } });

test.each(bad)('a token %s is refused before any call, and counted', async (what, make, why) => {
  const token = await make();
  const answer = await post(token);
  expect(answer.status).toBe(401);
  // The message names the invalid claim, unless the token is forged.
  const ofClaim = what.startsWith('whose claim') ? claimMessage('sub') : undefined;
  const reason = told[what] ?? ofClaim ?? 'The bearer token is not accepted.';
  expect(answer.headers.get('www-authenticate')).toBe(
    `Bearer error="invalid_token", error_description="${reason}"`,
  );
  expect(await answer.json()).toEqual({
    errors: [{ message: reason, extensions: { code: 'UNAUTHENTICATED', retryable: false } }],
  });
  expect(refusals).toEqual([why]);
  expect(bank.calls).toEqual([]);
});

test('no part of any token is in the log or in an answer', async () => {
  for (const make of [...bad.map(([, make]) => make), () => sign(rsa)]) {
    const token = await make();
    const text = await (await post(token)).text();
    for (const part of token.split('.').filter((each) => each.length > 12)) {
      expect(text).not.toContain(part);
      expect(bankql.log.join('')).not.toContain(part);
    }
  }
});

describe('a request without a token', () => {
  test.each<[string, Record<string, string>]>([
    ['none at all', {}],
    ['something else in Authorization', { Authorization: 'Basic YWxpY2U6cGFzcw==' }],
    ['an empty one', { Authorization: 'Bearer ' }],
    ['two in one', { Authorization: 'Bearer a Bearer b' }],
  ])('is 401 before its body is read: %s', async (what, headers) => {
    const answer = await post(null, { headers, body: '{"query": no JSON' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(
      what === 'none at all' ? /^Bearer$/ : /^Bearer error="invalid_token"/,
    );
    expect(refusals).toEqual([what === 'none at all' ? 'no token' : 'malformed']);
    expect(await answer.json()).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'UNAUTHENTICATED', retryable: false } })],
    });
  });

  test.each([
    ['/graphql?query={__typename}', 401],
    ['/graphql/', 401],
    ['/elsewhere/graphql?query={__typename}', 401],
    ['/elsewhere?query={__typename}&x=/graphql', 404],
    ['/elsewhere', 404],
  ])('is 401 on every path that leads to /graphql: %s', async (path, status) => {
    const answer = await bankql.fetch(new Request(`http://bankql.test${path}`));
    expect(answer.status).toBe(status);
    expect(await answer.text()).not.toContain('data');
  });

  test('cannot read the schema; GraphiQL’s page and /health are open', async () => {
    await using open = await createTestBankql({
      bankUrl: bank.url,
      identity: identity(),
      graphiql: { headers: { Authorization: 'Bearer your-token' } },
    });
    const body = JSON.stringify({ query: '{ __schema { queryType { name } } }' });
    expect((await post(null, { body, to: open })).status).toBe(401);
    expect((await post(await sign(rsa), { body, to: open })).status).toBe(200);
    const page = await open.fetch(
      new Request('http://bankql.test/graphql', { headers: { Accept: 'text/html' } }),
    );
    expect([page.status, (await page.text()).includes('Bearer your-token')]).toEqual([200, true]);
    for (const path of ['health', 'ready'])
      expect((await open.fetch(new Request(`http://bankql.test/${path}`))).status).toBe(200);
  });
});

describe('credentials in a request with a token', () => {
  test.each(Object.values(credentialHeaders))('are refused as the header %s', async (header) => {
    const answer = await post(await sign(rsa), { headers: { [header]: 'mine' } });
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).toContain(`Leave out the header ${header}: here a bearer token identifies the caller.`);
    expect(text).not.toContain('mine');
  });

  test('are refused as the key in the query string', async () => {
    const answer = await post(await sign(rsa), { search: '?subscription-key=mine' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({
      errors: [expect.objectContaining({ extensions: { code: 'BAD_USER_INPUT', retryable: false } })],
    });
    expect(bank.calls).toEqual([]);
  });
});
