import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';

const jwt = {
  BANK_SUBSCRIPTION_KEY: 'operator-key',
  IDENTITY: 'jwt',
  IDENTITY_JWKS_URL: 'https://login.example/.well-known/jwks.json',
  IDENTITY_ISSUER: 'https://login.example/',
  IDENTITY_AUDIENCE: 'bankql',
};

test('tokens need a key, the issuer’s keys, the issuer and the audience; the rest has defaults', () => {
  expect(readConfig({ ...jwt, HOST: '0.0.0.0' }).identity).toEqual({
    subscriptionKey: 'operator-key',
    jwksProxyUrl: null,
    jwksUrl: 'https://login.example/.well-known/jwks.json',
    issuer: 'https://login.example/',
    audience: 'bankql',
    algorithms: expect.not.arrayContaining(['HS256', 'none']),
    providerClaim: 'iss',
    authIdClaim: 'sub',
    paymentScope: null,
    claims: [],
  });
  expect(readConfig({ ...jwt, IDENTITY_PAYMENT_SCOPE: 'payments' }).identity?.paymentScope).toBe('payments');
  expect(readConfig({ ...jwt, IDENTITY_CLAIMS: 'bank_provider customer' }).identity).toMatchObject({
    providerClaim: 'bank_provider',
    authIdClaim: 'customer',
  });
  expect(readConfig({ ...jwt, IDENTITY_JWKS_URL: 'http://127.0.0.1:8080/keys' }).identity).not.toBeNull();
  expect(readConfig({}).identity).toBeNull();
  expect(readConfig({ IDENTITY: 'headers' }).identity).toBeNull();
});

test.each<[string, Record<string, string>]>([
  ['BANK_BASE_URL= cannot be used: in production name', { NODE_ENV: 'production' }],
  ['STATE_URL= cannot be used: say where records', { BANK_BASE_URL: 'https://bank.example' }],
  [
    'STATE_URL= cannot be used: say where records',
    { BANK_BASE_URL: 'http://127.0.0.1:9000', NODE_ENV: 'production' },
  ],
  ['IDENTITY= cannot be used: with BANK_SUBSCRIPTION_KEY', { HOST: '0.0.0.0', BANK_SUBSCRIPTION_KEY: 'k' }],
  ['BANK_SUBSCRIPTION_KEY= cannot be used: IDENTITY=jwt needs', { ...jwt, BANK_SUBSCRIPTION_KEY: '' }],
  ['IDENTITY_JWKS_URL= cannot be used: IDENTITY=jwt needs', { ...jwt, IDENTITY_JWKS_URL: '' }],
  ['IDENTITY_ISSUER= cannot be used: IDENTITY=jwt needs', { ...jwt, IDENTITY_ISSUER: '' }],
  ['IDENTITY_AUDIENCE= cannot be used: IDENTITY=jwt needs', { ...jwt, IDENTITY_AUDIENCE: '' }],
  [
    'IDENTITY_JWKS_URL=http://login.example/keys ',
    { ...jwt, IDENTITY_JWKS_URL: 'http://login.example/keys' },
  ],
  ['IDENTITY_JWKS_URL=ftp://127.0.0.1/keys ', { ...jwt, IDENTITY_JWKS_URL: 'ftp://127.0.0.1/keys' }],
  ['IDENTITY_JWKS_URL=keys ', { ...jwt, IDENTITY_JWKS_URL: 'keys' }],
  ['IDENTITY_JWKS_URL=https://…@login.example', { ...jwt, IDENTITY_JWKS_URL: 'https://me:pw@login.example' }],
  ['BANK_ID=a/b cannot be used: it holds one of', { BANK_ID: 'a/b' }],
  ['BANK_PROXY=me:…@proxy.example:1', { BANK_PROXY: 'me:pw@proxy.example:1' }],
  ['IDENTITY_CLAIMS=sub cannot be used: give two names', { ...jwt, IDENTITY_CLAIMS: 'sub' }],
  ['IDENTITY_AUDIENCE=bankql cannot be used: it needs IDENTITY=jwt', { IDENTITY_AUDIENCE: 'bankql' }],
  [
    'IDENTITY_JWKS_URL=https://…@login.example cannot be used: give an https address',
    { IDENTITY: 'headers', IDENTITY_JWKS_URL: 'https://me:pw@login.example' },
  ],
  [
    'IDENTITY_PAYMENT_SCOPE=payments cannot be used: it needs IDENTITY=jwt',
    { IDENTITY_PAYMENT_SCOPE: 'payments' },
  ],
  [
    'IDENTITY_PAYMENT_SCOPE=payments cannot be used: it needs IDENTITY=jwt',
    { IDENTITY: 'headers', IDENTITY_PAYMENT_SCOPE: 'payments' },
  ],
  ['IDENTITY_PAYMENT_SCOPE=a b cannot be used: give one word', { ...jwt, IDENTITY_PAYMENT_SCOPE: 'a b' }],
  ['IDENTITY=jws cannot be used', { ...jwt, IDENTITY: 'jws' }],
  ['RATE_LIMIT=300 cannot be used', { RATE_LIMIT: '300' }],
  ['NODE_ENV=prod cannot be used: give production', { NODE_ENV: 'prod' }],
  ['METRICS_PORT=4100 cannot be used: give another port', { PORT: '4100', METRICS_PORT: '4100' }],
  [
    'METRICS_PORT=4100 cannot be used: give another port',
    { PORT: '4100', METRICS_PORT: '4100', HOST: '0.0.0.0' },
  ],
  ['SANDBOX_PORT=4010 cannot be used: give another port than PORT.', { PORT: '4010' }],
  [
    'SANDBOX_PORT=4010 cannot be used: give another port than METRICS_PORT.',
    { HOST: '::', METRICS_PORT: '4010' },
  ],
  ['RATE_LIMIT=0/60 cannot be used', { RATE_LIMIT: '0/60' }],
  ['RATE_LIMIT=1/0 cannot be used', { RATE_LIMIT: '1/0' }],
  ['RATE_LIMIT=1/86401 cannot be used', { RATE_LIMIT: '1/86401' }],
  ['PERSISTED_ONLY=on cannot be used: name the manifest', { PERSISTED_ONLY: '1' }],
  ['PERSISTED_ONLY=log cannot be used: name the manifest', { PERSISTED_ONLY: 'log' }],
  ['PERSISTED_ONLY=warn cannot be used: give on, off or log.', { PERSISTED_ONLY: 'warn' }],
  [
    'NODE_TLS_REJECT_UNAUTHORIZED=0 cannot be used: with a bank, certificates have to be checked',
    { BANK_BASE_URL: 'https://bank.example', STATE_URL: 'memory:', NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  ],
])('refused at the start: %s', (message, environment) => {
  const read = () => readConfig(environment);
  expect(read).toThrow(message);
  expect(read).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/\n|pw/) }));
});

test('every certificate may be accepted where there is no bank', () => {
  expect(() => readConfig({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).not.toThrow();
});

test.each<Record<string, string>>([
  { PORT: '0', METRICS_PORT: '0', SANDBOX_PORT: '0' },
  { PORT: '4010', HOST: '::1' },
  { PORT: '4010', BANK_BASE_URL: 'https://bank.example', STATE_URL: 'memory:' },
])('servers that can listen beside each other are accepted: %j', (environment) => {
  expect(() => readConfig(environment)).not.toThrow();
});

test('without tokens each variable that is about them is refused', () => {
  const { BANK_SUBSCRIPTION_KEY: _, ...others } = jwt;
  expect(() => readConfig({ ...others, IDENTITY: 'headers' })).toThrow(
    expect.objectContaining({
      problems: ['IDENTITY_JWKS_URL', 'IDENTITY_ISSUER', 'IDENTITY_AUDIENCE'].map((variable) =>
        expect.objectContaining({ variable, remedy: expect.stringContaining('needs IDENTITY=jwt') }),
      ),
    }),
  );
});

test('limits of calls and documents are off unless set; without texts there is no GraphiQL', () => {
  const config = readConfig({});
  expect([config.rateLimit, config.persisted]).toEqual([null, null]);
  expect(readConfig({ RATE_LIMIT: '300/60' }).rateLimit).toEqual({ calls: 300, seconds: 60 });
  const persisted = readConfig({ PERSISTED_DOCUMENTS: 'manifest.json', PERSISTED_ONLY: '1' });
  expect(persisted.persisted).toEqual({ path: 'manifest.json', only: true });
  expect(persisted.graphiql).toBe(false);
  expect(readConfig({ PERSISTED_DOCUMENTS: 'manifest.json' }).graphiql).toBe(true);
  const logged = readConfig({ PERSISTED_DOCUMENTS: 'manifest.json', PERSISTED_ONLY: 'log' });
  expect([logged.persisted?.only, logged.graphiql]).toEqual(['log', true]);
});

test('a template of the viewer may name claims only where tokens are verified', () => {
  const claim = { VIEWER_CUSTOMER_ID: '{claim:customer}', VIEWER_ACCOUNT_ID: '{claim:account}-{auth-id}' };
  expect(() => readConfig(claim)).toThrow(/VIEWER_CUSTOMER_ID=\{claim:customer\} .*IDENTITY=jwt/);
  expect(() => readConfig(claim)).toThrow(/VIEWER_ACCOUNT_ID=/);
  expect(readConfig({ ...jwt, ...claim }).identity?.claims).toEqual(['customer', 'account']);
});

/** The way to the bank, as the environment says it. */

const bank = { BANK_BASE_URL: 'https://api.bank.example', STATE_URL: 'memory:' };
const proxy = 'http://proxy.example:3128';
const proxyOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...bank, ...environment }).bankLimits.network?.proxyUrl ?? null;

test.each([
  [{}, null],
  [{ BANK_PROXY: proxy }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: 'http://127.0.0.1:8080' }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: '' }, null],
  // They belong to other programs.
  [{ HTTPS_PROXY: proxy, https_proxy: proxy, HTTP_PROXY: 'x', NO_PROXY: '*' }, null],
])('the proxy to the bank with %o: %s', (environment, expected) => {
  expect(proxyOf(environment)).toBe(expected);
});

test('the proxy leads to the keys of tokens too, unless they are on this machine', () => {
  const identity = {
    BANK_PROXY: proxy,
    IDENTITY: 'jwt',
    BANK_SUBSCRIPTION_KEY: 'key-of-the-operator',
    IDENTITY_ISSUER: 'https://login.example/',
    IDENTITY_AUDIENCE: 'bankql',
  };
  const jwksProxyOf = (IDENTITY_JWKS_URL: string) =>
    readConfig({ ...bank, ...identity, IDENTITY_JWKS_URL }).identity?.jwksProxyUrl;
  expect(jwksProxyOf('https://login.example/jwks.json')).toBe(proxy);
  expect(jwksProxyOf('https://127.0.0.1/jwks.json')).toBeNull();
  expect(jwksProxyOf('http://localhost:8080/jwks.json')).toBeNull();
});

test.each([
  [{ BANK_TLS_CERT: 'c.pem' }, 'BANK_TLS_CERT needs the private key'],
  [{ BANK_TLS_KEY: 'k.pem' }, 'BANK_TLS_KEY needs the certificate'],
  [{ BANK_TLS_CA: 'ca.pem', BANK_BASE_URL: 'http://127.0.0.1' }, 'needs a BANK_BASE_URL that is https'],
  [{ BANK_PROXY: 'proxy.example:3128' }, 'give an address such as http://proxy.example:3128'],
  [{ BANK_PROXY: `ftp://user:${'pass-of-proxy'}@proxy.example/` }, 'BANK_PROXY=ftp://…@proxy.example/'],
])('%o stops the start', (environment, words) => {
  expect(() => readConfig({ ...bank, ...environment })).toThrow(words);
});
