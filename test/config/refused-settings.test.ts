import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/environment.ts';
import { type Given, real, tokens } from '../support/environments.ts';

test('tokens need a key, the issuer’s keys, the issuer and the audience; the rest has defaults', () => {
  expect(readConfig({ ...tokens, HOST: '0.0.0.0' }).identity).toEqual({
    subscriptionKey: 'key-of-the-operator',
    jwksProxyUrl: null,
    jwksUrl: 'https://login.example/jwks.json',
    issuer: 'https://login.example/',
    audience: 'bankql',
    algorithms: expect.not.arrayContaining(['HS256', 'none']),
    providerClaim: 'iss',
    authIdClaim: 'sub',
    paymentScope: null,
    refusedAudience: null,
    claims: [],
  });
  expect(readConfig({ ...tokens, IDENTITY_PAYMENT_SCOPE: 'payments' }).identity?.paymentScope).toBe(
    'payments',
  );
  expect(readConfig({ ...tokens, IDENTITY_CLAIMS: 'bank_provider customer' }).identity).toMatchObject({
    providerClaim: 'bank_provider',
    authIdClaim: 'customer',
  });
  expect(readConfig({ ...tokens, IDENTITY_JWKS_URL: 'http://127.0.0.1:8080/keys' }).identity).not.toBeNull();
  expect(readConfig({}).identity).toBeNull();
  expect(readConfig({ IDENTITY: 'headers' }).identity).toBeNull();
});

const mcpUrl = 'https://api.example/mcp';

/**
 * The message begins with the variable at fault: the variable that the expected text names or, if it names
 * none, the last variable of the row.
 */
test.each<[Given, string]>([
  [{ VIEWER_CUSTOMER_ID: '{user}' }, 'VIEWER_CUSTOMER_ID={user} cannot be used: {user} is unknown'],
  [{ VIEWER_CUSTOMER_ID: '{auth-id' }, 'VIEWER_CUSTOMER_ID={auth-id cannot be used: a brace'],
  [{ VIEWER_ACCOUNT_ID: '../{auth-id}' }, 'VIEWER_ACCOUNT_ID=../{auth-id} cannot be used: '],
  [{ PORT: '70000' }, 'PORT=70000 '],
  [{ PORT: '80.5' }, 'PORT=80.5 '],
  [{ PORT: '-1' }, 'PORT=-1 '],
  [{ EXPLORE: 'yes' }, 'EXPLORE=yes '],
  [{ BANK_KEEP_ALIVE: 'no' }, 'BANK_KEEP_ALIVE=no '],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL=loud '],
  [{ BANK_TIMEOUT_MS: '0' }, 'BANK_TIMEOUT_MS=0 '],
  // An empty text is not a number, and does not mean that no metrics are served.
  [{ METRICS_PORT: 'x' }, 'from 0 to 65535.'],
  [{ BANK_BASE_URL: 'bank' }, 'BANK_BASE_URL=bank '],
  [{ BANK_BASE_URL: 'ftp://bank.example' }, 'BANK_BASE_URL=ftp:'],
  [{ BANK_BASE_URL: 'https://bank.example/?a=b' }, 'what follows'],
  [{ BANK_BASE_URL: 'https://bank.example/v1/api' }, 'without /v1/api'],
  [{ BANK_BASE_URL: 'https://bank.example/open/v1/api//' }, 'without /v1/api'],
  [{ STATE_URL: 'memory:', BANK_BASE_URL: 'http://bank.example' }, 'BANK_ALLOW_HTTP'],
  [{ ...real, STATE_URL: 'postgres://me@host' }, 'it has to name a database'],
  [{ ...real, STATE_URL: 'state.db' }, 'it names no payment store: use memory:'],
  [
    { ...real, STATE_URL: `postgres://user@a/pay?password=${'pw'}` },
    'STATE_URL=postgres://…@a/pay?… cannot be used: ',
  ],
  [{ BANK_ID: '..' }, 'a dot segment'],
  [{ BANK_DEFAULT_VIEW: 'a/b' }, 'it holds one of'],
  [{ BANK_ACCOUNT_SCOPE: 'a/b' }, 'BANK_ACCOUNT_SCOPE=a/b '],
  [{ ...real, BANK_SUBSCRIPTION_KEY: 'sécret' }, 'BANK_SUBSCRIPTION_KEY=… '],
  [{ STATE_ALLOW_VOLATILE: 'perhaps' }, 'give on or off'],
  [{ BANK_PAYMENT_DONE: 'POSTED,,SENT' }, 'words, codes or texts of up to 200 characters'],
  [
    { BANK_PAYMENT_REJECTED: 'In doubt', BANK_PAYMENT_DONE: 'POSTED, in_doubt' },
    'BANK_PAYMENT_REJECTED has this word too',
  ],
  [{ BANK_PAYMENT_NOT_SENT: 'Slow down.||Wait.' }, 'give texts of up to 200 characters, separated by |'],
  [
    { BANK_PAYMENT_REJECTED: 'limit reached', BANK_PAYMENT_NOT_SENT: 'Wait.|Limit reached' },
    'BANK_PAYMENT_REJECTED has this text too',
  ],
  [{ BANK_PAYMENT_STATUS: 'data..status' }, 'give a path such as data.status'],
  [{ BANK_PAYMENT_RECEIPT: '.id' }, 'give a path such as data.status'],
  [{ BANK_PAYMENT_RECEIPT: 'id', BANK_PAYMENT_NEUTRAL: 'fee,,x' }, 'give paths separated by commas'],
  [{ BANK_PAYMENT_NEUTRAL: 'fee' }, 'it needs BANK_PAYMENT_RECEIPT or BANK_PAYMENT_STATUS'],
  [
    { BANK_PAYMENT_RECEIPT: 'data.id', BANK_PAYMENT_NEUTRAL: 'data' },
    'the place of the status or of the receipt',
  ],
  [{ BANK_PAYMENT_REJECTED: 'E51,am 05' }, 'means a duplicate, which the bank may have executed'],
  [{ CORS_ORIGINS: 'https://a.example, b.example' }, 'b.example is not an origin'],
  ...['0', '257', 'all', '1.5'].map((text): [Given, string] => [
    { WORKERS: text },
    'or auto for one for each core',
  ]),
  [{ WORKERS: '2' }, 'name the bank with BANK_BASE_URL'],
  [{ ...real, WORKERS: '2' }, 'with STATE_URL=memory: each worker would know only its own payments'],
  [{ NODE_ENV: 'production' }, 'BANK_BASE_URL= cannot be used: in production name'],
  [{ BANK_BASE_URL: 'https://bank.example' }, 'STATE_URL= cannot be used: say where records'],
  [
    { BANK_BASE_URL: 'http://127.0.0.1:9000', NODE_ENV: 'production' },
    'STATE_URL= cannot be used: say where records',
  ],
  [{ HOST: '0.0.0.0', BANK_SUBSCRIPTION_KEY: 'k' }, 'IDENTITY= cannot be used: with BANK_SUBSCRIPTION_KEY'],
  ...['BANK_SUBSCRIPTION_KEY', 'IDENTITY_JWKS_URL', 'IDENTITY_ISSUER', 'IDENTITY_AUDIENCE'].map(
    (name): [Given, string] => [{ ...tokens, [name]: '' }, `${name}= cannot be used: IDENTITY=jwt needs`],
  ),
  ...['http://login.example/keys', 'ftp://127.0.0.1/keys', 'keys'].map((url): [Given, string] => [
    { ...tokens, IDENTITY_JWKS_URL: url },
    `IDENTITY_JWKS_URL=${url} `,
  ]),
  [
    { ...tokens, IDENTITY_JWKS_URL: 'https://me:pw@login.example' },
    'IDENTITY_JWKS_URL=https://…@login.example',
  ],
  [{ ...real, MCP_DOCUMENTS: 'tools' }, 'with a bank, agents need tokens'],
  [{ ...real, IDENTITY: 'headers', MCP_DOCUMENTS: 'tools' }, 'with a bank, agents need tokens'],
  [{ ...tokens, MCP_DOCUMENTS: 'tools' }, 'MCP_URL= cannot be used: MCP_DOCUMENTS and IDENTITY=jwt need'],
  [{ ...tokens, MCP_URL: mcpUrl }, 'name the folder of tools with MCP_DOCUMENTS'],
  [{ MCP_DOCUMENTS: 'tools', MCP_URL: mcpUrl }, 'it needs IDENTITY=jwt'],
  [
    { ...tokens, IDENTITY_AUDIENCE: mcpUrl, MCP_DOCUMENTS: 'tools', MCP_URL: mcpUrl },
    'give another value than IDENTITY_AUDIENCE',
  ],
  ...['http://api.example/mcp', 'https://API.example/mcp', 'https://api.example/', `${mcpUrl}?a`].map(
    (url): [Given, string] => [
      { ...tokens, MCP_DOCUMENTS: 'tools', MCP_URL: url },
      `MCP_URL=${url} cannot be used: give the address of /mcp`,
    ],
  ),
  [
    { IDENTITY: 'headers', IDENTITY_JWKS_URL: 'https://me:pw@login.example' },
    'IDENTITY_JWKS_URL=https://…@login.example cannot be used: give an https address',
  ],
  [{ ...tokens, IDENTITY_CLAIMS: 'sub' }, 'give two names'],
  [{ IDENTITY_AUDIENCE: 'bankql' }, 'it needs IDENTITY=jwt'],
  [{ IDENTITY_PAYMENT_SCOPE: 'payments' }, 'it needs IDENTITY=jwt'],
  [{ IDENTITY: 'headers', IDENTITY_PAYMENT_SCOPE: 'payments' }, 'it needs IDENTITY=jwt'],
  [{ ...tokens, IDENTITY_PAYMENT_SCOPE: 'a b' }, 'give one word'],
  [{ ...tokens, IDENTITY: 'jws' }, 'IDENTITY=jws cannot be used'],
  [{ NODE_ENV: 'prod' }, 'give production'],
  [{ PORT: '4100', METRICS_PORT: '4100' }, 'METRICS_PORT=4100 cannot be used: give another port'],
  [{ PORT: '4010' }, 'SANDBOX_PORT=4010 cannot be used: give another port than PORT.'],
  [
    { HOST: '::', METRICS_PORT: '4010' },
    'SANDBOX_PORT=4010 cannot be used: give another port than METRICS_PORT.',
  ],
  ...['300', '0/60', '1/0', '1/86401'].map((text): [Given, string] => [
    { RATE_LIMIT: text },
    'give REST calls per seconds',
  ]),
  [{ PERSISTED_ONLY: '1' }, 'PERSISTED_ONLY=1 cannot be used: name the manifest'],
  [{ PERSISTED_ONLY: 'log' }, 'PERSISTED_ONLY=log cannot be used: name the manifest'],
  [{ PERSISTED_ONLY: 'warn' }, 'PERSISTED_ONLY=warn cannot be used: give on, off or log.'],
  [{ ...real, NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'with a bank, certificates have to be checked'],
  [{ ...real, BANK_TLS_CERT: 'c.pem' }, 'BANK_TLS_KEY= cannot be used: BANK_TLS_CERT needs the private key'],
  [{ ...real, BANK_TLS_KEY: 'k.pem' }, 'BANK_TLS_CERT= cannot be used: BANK_TLS_KEY needs the certificate'],
  [
    { ...real, BANK_BASE_URL: 'http://127.0.0.1', BANK_TLS_CA: 'ca.pem' },
    'needs a BANK_BASE_URL that is https',
  ],
  [
    { BANK_PROXY: 'me:pw@proxy.example:1' },
    'BANK_PROXY=me:…@proxy.example:1 cannot be used: give an address such as http://proxy.example:3128',
  ],
  [{ BANK_PROXY: 'ftp://user:pw@proxy.example/' }, 'BANK_PROXY=ftp://…@proxy.example/ '],
])('refused in one line that names the variable and the remedy: %o, %s', (environment, words) => {
  const read = () => readConfig(environment);
  const [name = Object.keys(environment).at(-1)] = /^[A-Z_]+(?==)/.exec(words) ?? [];
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(new RegExp(`^${name}=.*: `));
  expect(read).toThrow(words);
  expect(read).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/\n|pw/) }));
});

test.each<Given>([
  { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  { PORT: '0', METRICS_PORT: '0', SANDBOX_PORT: '0' },
  { PORT: '4010', HOST: '::1' },
  { ...real, PORT: '4010' },
  { ...real, BANK_BASE_URL: 'http://b.example', BANK_ALLOW_HTTP: '1' },
  { ...real, BANK_SUBSCRIPTION_KEY: 'k' },
  { ...real, HOST: '0.0.0.0', BANK_SUBSCRIPTION_KEY: 'k', IDENTITY: 'headers' },
])('accepted: %j', (environment) => {
  expect(() => readConfig(environment)).not.toThrow();
});

test('without tokens each variable that is about them is refused', () => {
  const { BANK_SUBSCRIPTION_KEY: _, ...others } = tokens;
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
  expect(readConfig({ ...tokens, ...claim }).identity?.claims).toEqual(['customer', 'account']);
});

/** The settings of the connection to the bank. */

const proxy = 'http://proxy.example:3128';
const proxyOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...real, ...environment }).bankLimits.network?.proxyUrl ?? null;

test.each([
  [{}, null],
  [{ BANK_PROXY: proxy }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: 'http://127.0.0.1:8080' }, proxy],
  [{ BANK_PROXY: proxy, BANK_BASE_URL: '' }, null],
  // These variables belong to other programs.
  [{ HTTPS_PROXY: proxy, https_proxy: proxy, HTTP_PROXY: 'x', NO_PROXY: '*' }, null],
])('the proxy to the bank with %o: %s', (environment, expected) => {
  expect(proxyOf(environment)).toBe(expected);
});

test('the proxy leads to the keys of tokens too, unless they are on this machine', () => {
  const jwksProxyOf = (IDENTITY_JWKS_URL: string) =>
    readConfig({ ...real, ...tokens, BANK_PROXY: proxy, IDENTITY_JWKS_URL }).identity?.jwksProxyUrl;
  expect(jwksProxyOf('https://login.example/jwks.json')).toBe(proxy);
  expect(jwksProxyOf('https://127.0.0.1/jwks.json')).toBeNull();
  expect(jwksProxyOf('http://localhost:8080/jwks.json')).toBeNull();
});
