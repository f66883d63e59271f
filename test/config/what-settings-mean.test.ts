import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { limits } from '../../src/load/fixed-limits.ts';
import { noBankWords } from '../../src/payments/answer/payment-words.ts';
import { type Given, real } from '../support/environments.ts';

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

test('the viewer is the login with the sandbox bank; of another bank the operator says how', () => {
  const textsOf = (environment: Given) => {
    const { customerId, accountId } = readConfig(environment).server.defaults.viewer;
    return [customerId, accountId];
  };
  expect(textsOf({})).toEqual(['{auth-id}', '{auth-id}-current']);
  expect(textsOf({ VIEWER_ACCOUNT_ID: 'family-joint' })).toEqual(['{auth-id}', 'family-joint']);
  expect(textsOf(real)).toEqual([null, null]);
  expect(textsOf({ ...real, VIEWER_CUSTOMER_ID: 'c-{provider}' })).toEqual(['c-{provider}', null]);
});

test('limits for all workers are divided among them; limits of one caller are not', () => {
  const given = { ...real, STATE_URL: 'sqlite:s.db', BANK_CONNECTIONS: '65' };
  const { workers, server, bankLimits } = readConfig(
    { ...given, WORKERS: '4' },
    { ...limits, unreadBytes: 1000 },
  );
  expect(workers).toBe(4);
  expect(server.capacity).toMatchObject({ totals: { requests: 64, unread: 250 }, requestsPerCaller: 64 });
  expect(bankLimits.connections).toBe(17);
  expect(readConfig({ ...given, WORKERS: 'auto' }).workers).toBe(availableParallelism());
  // Any store may be combined with any number of workers and any rate limit.
  for (const state of ['sqlite:s.db', 'postgres://bankql@store/bankql']) {
    const limited = { ...given, WORKERS: '2', RATE_LIMIT: '9/1', STATE_URL: state };
    expect(readConfig(limited)).toMatchObject({ workers: 2, rateLimit: { calls: 9 } });
  }
});

test('the deadline of a query is never shorter than that of one of its calls', () => {
  const timeoutOf = (environment: Given) => readConfig(environment).server.limits.timeoutMs;
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
