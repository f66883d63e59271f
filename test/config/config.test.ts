import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/environment.ts';
import { limits } from '../../src/load/limits.ts';
import { noBankWords } from '../../src/payments/answer/payment-words.ts';

describe('with an empty environment', () => {
  const config = readConfig({});

  test('bankql serves on loopback, over the sandbox bank, for people to explore', () => {
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 4000 });
    expect(config.bank).toBeNull();
    expect(config.server.defaults).toMatchObject({ bankId: 'SNDBCY2N', viewId: 'owner' });
    expect(config.state.url).toBe('memory:');
    expect([config.graphiql, config.explains, config.server.introspection]).toEqual([true, true, true]);
    expect(config.sandbox).toEqual({ port: 4010 });
  });
});

describe('with a bank', () => {
  test('nothing is assumed of it, and GraphiQL, introspection and explain are off unless they are switched on', () => {
    const config = readConfig({ BANK_BASE_URL: 'http://127.0.0.1:9000/prefix/' });
    expect(config.bank).toEqual({ baseUrl: 'http://127.0.0.1:9000/prefix/' });
    expect(config.server.defaults.bankId).toBeNull();
    expect([config.graphiql, config.explains, config.server.introspection]).toEqual([false, false, false]);
    const explored = readConfig({ BANK_BASE_URL: 'http://127.0.0.1:9000', EXPLORE: 'on' });
    expect([explored.graphiql, explored.explains, explored.server.introspection]).toEqual([true, true, true]);
  });

  test('on loopback payments are kept in a file; elsewhere the operator says where', () => {
    expect(readConfig({ BANK_BASE_URL: 'http://localhost:9000' }).state.url).toBe('sqlite:.bankql/state.db');
    expect(
      readConfig({ BANK_BASE_URL: 'https://bank.example', STATE_URL: 'sqlite:/var/lib/b.db' }).state.url,
    ).toBe('sqlite:/var/lib/b.db');
  });
});

test.each([
  ['on', true],
  ['1', true],
  ['true', true],
  ['off', false],
  ['0', false],
  ['false', false],
])('a switch takes %s', (text, expected) => {
  expect(readConfig({ EXPLORE: text }).graphiql).toBe(expected);
});

const real = { BANK_BASE_URL: 'https://bank.example', STATE_URL: 'memory:' };

test('the viewer is the login with the sandbox bank; of another bank the operator says how', () => {
  const textsOf = (environment: Record<string, string>) => {
    const { customerId, accountId } = readConfig(environment).server.defaults.viewer;
    return [customerId, accountId];
  };
  expect(textsOf({})).toEqual(['{auth-id}', '{auth-id}-current']);
  expect(textsOf({ VIEWER_ACCOUNT_ID: 'family-joint' })).toEqual(['{auth-id}', 'family-joint']);
  expect(textsOf(real)).toEqual([null, null]);
  expect(textsOf({ ...real, VIEWER_CUSTOMER_ID: 'c-{provider}' })).toEqual(['c-{provider}', null]);
});

test.each<[Record<string, string>, string]>([
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
  // Left out it is no number: no metrics are served.
  [{ METRICS_PORT: 'x' }, 'from 0 to 65535.'],
  [{ BANK_BASE_URL: 'bank' }, 'BANK_BASE_URL=bank '],
  [{ BANK_BASE_URL: 'ftp://bank.example' }, 'BANK_BASE_URL=ftp:'],
  [{ BANK_BASE_URL: 'https://bank.example/?a=b' }, 'what follows'],
  [{ BANK_BASE_URL: 'https://bank.example/v1/api' }, 'without /v1/api'],
  [{ BANK_BASE_URL: 'https://bank.example/open/v1/api//' }, 'without /v1/api'],
  [{ STATE_URL: 'memory:', BANK_BASE_URL: 'http://bank.example' }, 'BANK_ALLOW_HTTP'],
  [{ ...real, STATE_URL: 'postgres://me@host' }, 'it has to name a database'],
  [{ ...real, STATE_URL: 'postgres://me@a:99999/pay' }, 'a host is written as'],
  [{ ...real, STATE_URL: 'redis://host/2' }, 'it names no payment store'],
  [{ ...real, STATE_URL: 'state.db' }, 'it names no payment store: use memory:'],
  [{ BANK_ID: '..' }, 'a dot segment'],
  [{ BANK_DEFAULT_VIEW: 'a/b' }, 'BANK_DEFAULT_VIEW=a/b '],
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
  ...['0', '257', 'all', '1.5'].map((text): [Record<string, string>, string] => [
    { WORKERS: text },
    'or auto for one for each core',
  ]),
  [{ WORKERS: '2' }, 'name the bank with BANK_BASE_URL'],
  [{ ...real, WORKERS: '2' }, 'with STATE_URL=memory: each worker would know only its own payments'],
  [{ ...real, IDENTITY: 'nobody' }, 'IDENTITY=nobody '],
])('the start is refused in one line that names the variable and the remedy: %o', (environment, part) => {
  const read = () => readConfig(environment);
  expect(read).toThrow(ConfigError);
  // The variable that is bad is the last of each row.
  expect(read).toThrow(new RegExp(`^${Object.keys(environment).at(-1)}=.*: `));
  expect(read).toThrow(part);
});

test('of what all workers may take on, each gets its share; what is one caller’s is not shared out', () => {
  const given = { ...real, STATE_URL: 'sqlite:s.db', BANK_CONNECTIONS: '65' };
  const { workers, server, bankLimits } = readConfig(
    { ...given, WORKERS: '4' },
    { ...limits, unreadBytes: 1000 },
  );
  expect(workers).toBe(4);
  expect(server.capacity).toMatchObject({ totals: { requests: 64, unread: 250 }, requestsPerCaller: 64 });
  expect(bankLimits.connections).toBe(17);
  expect(readConfig({ ...given, WORKERS: 'auto' }).workers).toBe(availableParallelism());
  // Any store, any number of workers and rate limits combine.
  for (const state of ['sqlite:s.db', 'postgres://bankql@store/bankql']) {
    const limited = { ...given, WORKERS: '2', RATE_LIMIT: '9/1', STATE_URL: state };
    expect(readConfig(limited)).toMatchObject({ workers: 2, rateLimit: { calls: 9 } });
  }
});

test('the deadline of a query is never shorter than that of one of its calls', () => {
  const timeoutOf = (environment: Record<string, string>) => readConfig(environment).server.limits.timeoutMs;
  expect(timeoutOf({})).toBe(20_000);
  expect(timeoutOf({ BANK_TIMEOUT_MS: '30000' })).toBe(30_000);
  expect(timeoutOf({ BANK_TRANSFER_TIMEOUT_MS: '60000' })).toBe(60_000);
});

test('the metrics are served where clients are', () => {
  expect(readConfig({ HOST: '127.0.0.2', METRICS_PORT: '9464' }).metrics).toEqual({
    host: '127.0.0.2',
    port: 9464,
  });
});

test('the words with which a bank says how a payment ended are its own, and so are their places', () => {
  expect(readConfig({}).paymentWords).toEqual({ ...noBankWords, neutralPaths: [] });
  const given = {
    BANK_PAYMENT_DONE: 'Posted, AWAITING CLEARING',
    BANK_PAYMENT_REJECTED: 'AM04,Saldo insuficiente',
    BANK_PAYMENT_STATUS: 'data.0.status',
    BANK_PAYMENT_RECEIPT: '0.id',
    BANK_PAYMENT_NEUTRAL: 'data.fee, meta',
  };
  expect(readConfig(given).paymentWords).toEqual({
    done: new Set(['posted', 'awaitingclearing']),
    rejected: new Set(['am04', 'saldoinsuficiente']),
    statusPath: ['data', '0', 'status'],
    receiptPath: ['0', 'id'],
    neutralPaths: [['data', 'fee'], ['meta']],
  });
});

test.each<[string, Record<string, string>]>([
  [
    'plain http elsewhere, where it is accepted',
    { ...real, BANK_BASE_URL: 'http://b.example', BANK_ALLOW_HTTP: '1' },
  ],
  ["the operator's key on loopback", { ...real, BANK_SUBSCRIPTION_KEY: 'k' }],
  [
    "the operator's key behind a proxy",
    { ...real, HOST: '0.0.0.0', BANK_SUBSCRIPTION_KEY: 'k', IDENTITY: 'headers' },
  ],
])('allowed: %s', (_what, environment) => {
  expect(() => readConfig(environment)).not.toThrow();
});
