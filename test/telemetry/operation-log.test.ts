import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { hashCaller } from '../../src/payments/caller.ts';
import { logOptions } from '../../src/telemetry/log.ts';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import { createCallerHashes, createOperationObserver } from '../../src/telemetry/operation-observer.ts';
import { credentials } from '../support/bankql.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { postOf } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** One line of the log for each request for GraphQL. */

const lines: Record<string, unknown>[] = [];
const logger = pino(logOptions('info'), { write: (line: string) => void lines.push(JSON.parse(line)) });
const secret = 'ab'.repeat(32);
const observer = createOperationObserver({
  logger,
  metrics: null,
  tracing: null,
  callerHash: createCallerHashes(() => secret),
});
const { onCall, onShared } = createTelemetry(logger, logger);
const bankOptions = { onCall, onShared, publicCacheTtlMs: 60_000 };
const start = (options = {}) => startServerFixture({ observer, bankOptions, ...options });

afterEach(() => {
  lines.length = 0;
  logger.level = 'info';
});

const operations = () => lines.filter(({ msg }) => msg === 'operation');

async function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, postOf(body, { ...credentials, ...headers }));
  const text = await response.text();
  return { status: response.status, bytes: Buffer.byteLength(text), text };
}

const branches = 'query Branches { bank { branches { totalCount } } }';
const message = '{ bank { messages { nodes { message } } } }';

describe('an operation leaves one line', () => {
  test('with its name or its document’s hash, its kind, how it ended, and what it took', async () => {
    await using fixture = await start();
    fixture.bank.on('GET /v1/api/banks/BANK/branches', { body: { branches: [] } });
    const first = await post(fixture.url, { query: branches }, { 'X-Request-Id': 'first' });
    await post(fixture.url, { query: branches });
    const caller = expect.stringMatching(/^[0-9a-f]{64}$/);
    const ms = expect.any(Number);
    const common = {
      operation: 'Branches',
      kind: 'query',
      outcome: 'ok',
      status: 200,
      caller,
      ms,
      shared: 0,
    };
    await expect.poll(operations).toMatchObject([
      { ...common, requestId: 'first', calls: 1, cached: 0, bytes: first.bytes },
      { ...common, calls: 0, cached: 1 },
    ]);
    await post(fixture.url, { query: '{ bank { branches { totalCount } } }' }, { 'Auth-ID': 'another' });
    const [line, , unnamed] = await operationLines(3);
    expect(unnamed).toMatchObject({ document: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(unnamed?.operation).toBeUndefined();
    expect(unnamed?.caller).not.toBe(line?.caller);
    expect(JSON.stringify(lines)).not.toContain('the-caller');
  });

  test('reads that two requests share count as a call of one and as shared of the other', async () => {
    await using fixture = await start();
    const answer = Promise.withResolvers<{ body: object }>();
    const asked = Promise.withResolvers<void>();
    fixture.bank.otherwise(() => {
      asked.resolve();
      return answer.promise;
    });
    const one = post(fixture.url, { query: message });
    await asked.promise;
    const other = post(fixture.url, { query: `${message} ` });
    await expect.poll(() => fixture.server.held.requests).toBe(2);
    answer.resolve({ body: { messages: [] } });
    await Promise.all([one, other]);
    const taken = (await operationLines(2)).map(({ calls, shared }) => ({ calls, shared }));
    expect(taken).toContainEqual({ calls: 1, shared: 0 });
    expect(taken).toContainEqual({ calls: 0, shared: 1 });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('what fails is told by its codes: a part, all, a text that is none, and what HTTP or the load refuses', async () => {
    await using fixture = await start({
      capacity: capacityLimits({ requests: 1, requestsPerCaller: 1 }),
    });
    await post(fixture.url, { query: 'query Part { bank { customer(customerId: "c") { email } bankId } }' });
    await post(fixture.url, { query: '{ bank { secretOfTheTest } }' });
    await fetch(fixture.url, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'x' });
    await expect.poll(operations).toMatchObject([
      { operation: 'Part', outcome: 'partial', codes: ['NOT_FOUND'], status: 200 },
      { outcome: 'failed', codes: ['GRAPHQL_VALIDATION_FAILED'] },
      { outcome: 'failed', codes: ['BAD_USER_INPUT'], status: 415 },
    ]);
    lines.length = 0;
    fixture.bank.otherwise(() => 'hang');
    const leave = new AbortController();
    const headers = { 'Content-Type': 'application/json', ...credentials };
    const body = JSON.stringify({ query: message });
    const hangs = fetch(fixture.url, { method: 'POST', headers, body, signal: leave.signal }).catch(() => {});
    await expect.poll(() => fixture.server.held.requests).toBe(1);
    expect((await post(fixture.url, { query: '{ __typename }' })).status).toBe(503);
    leave.abort();
    await hangs;
    await expect.poll(operations).toMatchObject([
      { outcome: 'failed', codes: ['OVERLOADED'], status: 503 },
      { outcome: 'client left', kind: 'query' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secretOfTheTest');
  });

  test('the line of a failed payment has its code, whether `errors` or `userErrors` contains it', async () => {
    await using fixture = await start();
    fixture.bank.otherwise({ status: 422, body: { message: 'Insufficient funds' } });
    const refused = (name: string, key: string, selected: string) =>
      `mutation ${name} { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "1", currency: "EUR" }, idempotencyKey: "${key}" }) { ${selected} } }`;
    const query = refused('Told', 'told', 'userErrors { code }');
    await post(fixture.url, { query });
    await post(fixture.url, { query });
    await post(fixture.url, { query: refused('NotSelected', 'other', 'replayed') });
    await expect.poll(operations).toMatchObject([
      { operation: 'Told', outcome: 'partial', codes: ['BANK_REJECTED'], status: 200, calls: 1 },
      { operation: 'Told', outcome: 'partial', codes: ['BANK_REJECTED'], status: 200, calls: 0 },
      { operation: 'NotSelected', outcome: 'failed', codes: ['BANK_REJECTED'], calls: 1 },
    ]);
  });

  test('a GET too, and neither health nor a page; none is written below info', async () => {
    await using fixture = await start();
    const url = new URL(fixture.url);
    await fetch(`${fixture.url}?query={__typename}`, { headers: credentials });
    await fetch(new URL('/health', url));
    await fetch(new URL('/nothing', url), { headers: credentials });
    await expect.poll(operations).toMatchObject([{ kind: 'query', outcome: 'ok', calls: 0 }]);
    logger.level = 'warn';
    await post(fixture.url, { query: '{ __typename }' });
    expect(operations()).toHaveLength(1);
  });
});

/** That many lines, once they are written. */
async function operationLines(count: number): Promise<Record<string, unknown>[]> {
  await expect.poll(operations).toHaveLength(count);
  return operations();
}

test('the log shows no part of a secret that an error’s message was cut in', () => {
  const secret = 'secret-'.padEnd(255, 'x');
  const written: string[] = [];
  const failing = pino(logOptions('info', [secret]), { write: (line: string) => void written.push(line) });
  failing.error({ err: new Error(`${secret} `.repeat(30)) }, 'failed');
  expect(written).toHaveLength(1);
  expect(written[0]).toContain('[redacted] [redacted]');
  expect(written[0]).not.toContain('secr');
});

const caller = (authId: string | null, authProviderName: string | null = 'sandbox') =>
  ({ subscriptionKey: 'key', authProviderName, authId }) as Credentials;

test('a caller has the hash of the records of payments, each time, and nobody else has it', () => {
  const hashOf = createCallerHashes(() => 'secret');
  const expected = hashCaller('secret', 'sandbox', 'alice');
  expect([hashOf(caller('alice')), hashOf(caller('alice'))]).toEqual([expected, expected]);
  expect(hashOf(caller('bob'))).toBe(hashCaller('secret', 'sandbox', 'bob'));
  expect(hashOf(caller('alice', 'other'))).toBe(hashCaller('secret', 'other', 'alice'));
});

test('who is not named has none', () => {
  const hashOf = createCallerHashes(() => 'secret');
  expect([hashOf(null), hashOf(caller(null)), hashOf(caller('alice', null))]).toEqual([null, null, null]);
});

test('another secret of the store makes other hashes', () => {
  let secret = 'before';
  const hashOf = createCallerHashes(() => secret);
  const before = hashOf(caller('alice'));
  secret = 'after';
  expect(hashOf(caller('alice'))).toBe(hashCaller('after', 'sandbox', 'alice'));
  expect(hashOf(caller('alice'))).not.toBe(before);
});
