import { hash } from 'node:crypto';
import { parse } from 'graphql';
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

describe('the app that asks', () => {
  const persisted = (only: boolean | 'log', documents: Readonly<Record<string, readonly string[]>>) => ({
    documents: {
      texts: new Map(Object.keys(documents).map((text) => [text, text])),
      parsed: new Map(Object.entries(documents).map(([text, apps]) => [text, { node: parse(text), apps }])),
    },
    only,
  });
  const [alone, shared, unknown] = ['query Alone', 'query Shared', 'query Unknown'].map(
    (name) => `${name} { __typename }`,
  ) as [string, string, string];
  const manifests = { [alone]: ['ios-4.2'], [shared]: ['ios-4.1', 'ios-4.2', 'web'] };
  const named = (name: string, version?: string, prefix = 'graphql-client') => ({
    [`${prefix}-name`]: name,
    ...(version === undefined ? {} : { [`${prefix}-version`]: version }),
  });

  test.each<[string, object, Record<string, string>, string]>([
    ['is the one that the client names', { documentId: shared }, named('ios', '4.1'), 'ios-4.1'],
    [
      'also in the headers of Apollo',
      { documentId: shared },
      named('ios', '4.2', 'apollographql-client'),
      'ios-4.2',
    ],
    ['which may have no version', { documentId: shared }, named('web'), 'web'],
    ['also if it sends the text', { query: shared }, named('web'), 'web'],
    ['is the only one, whatever the client says', { documentId: alone }, named('web'), 'ios-4.2'],
    ['is the only one of a client without a name', { documentId: alone }, {}, 'ios-4.2'],
    ['is several if the client names none', { documentId: shared }, {}, 'several'],
    [
      'is several if the client names one without the document',
      { documentId: shared },
      named('ios', '4.3'),
      'several',
    ],
    ['is several if the client names only half of one', { documentId: shared }, named('ios'), 'several'],
    ['is other without a manifest that has the document', { query: unknown }, named('ios', '4.2'), 'other'],
  ])('%s', async (_, body, headers, app) => {
    await using fixture = await start({ persisted: persisted(false, manifests) });
    await post(fixture.url, body, headers);
    expect(await operationLines(1)).toMatchObject([{ app, outcome: 'ok' }]);
    expect(lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });

  test('is in no line of a request whose operation is not known', async () => {
    await using fixture = await start({ persisted: persisted(true, manifests) });
    await post(fixture.url, { query: shared }, named('web'));
    expect(await operationLines(1)).toEqual([expect.not.objectContaining({ app: expect.anything() })]);
  });

  describe('with PERSISTED_ONLY=log', () => {
    const logging = createOperationObserver({
      ...{ logger, metrics: null, tracing: null, callerHash: () => null, logsTexts: true },
    });
    const begin = () => start({ persisted: persisted('log', manifests), observer: logging });
    const message = 'a document is sent as text: PERSISTED_ONLY=on would refuse it';
    const warnings = () => lines.filter(({ msg }) => msg === message);
    const hashOf = (text: string) => hash('sha256', text);

    test('each text is served, and named once, without its content; an id is not named', async () => {
      await using fixture = await begin();
      logger.level = 'warn';
      const secret = '{ secretAlias: __typename }';
      for (const body of [
        { query: unknown },
        { query: unknown },
        { query: secret },
        { query: shared },
        { documentId: alone },
      ])
        expect((await post(fixture.url, body, named('ios', '4.2'))).status).toBe(200);
      await fetch(`${fixture.url}?query={get:__typename}`, { headers: credentials });
      await expect.poll(warnings).toMatchObject([
        { level: 40, document: hashOf(unknown), operation: 'Unknown', client: 'ios-4.2', app: 'other' },
        { document: hashOf(secret), client: 'ios-4.2', app: 'other' },
        // This document would be refused as well, although a manifest contains it.
        { document: hashOf(shared), operation: 'Shared', client: 'ios-4.2', app: 'ios-4.2' },
        { document: hashOf('{get:__typename}') },
      ]);
      expect(JSON.stringify(lines)).not.toContain('secretAlias');
    });

    test('1,000 documents are remembered; a name of a client has 100 characters', async () => {
      await using fixture = await begin();
      logger.level = 'warn';
      const ask = (n: number) =>
        post(fixture.url, { query: `{ a${n}: __typename }` }, named('c'.repeat(5000)));
      for (let n = 0; n < 1001; n++) await ask(n);
      await ask(1);
      await expect.poll(warnings).toHaveLength(1001);
      await ask(0);
      await expect.poll(warnings).toHaveLength(1002);
      expect(new Set(warnings().map(({ client }) => client))).toEqual(new Set(['c'.repeat(100)]));
    });

    test('a text that is refused anyway, and an unknown id, are not named', async () => {
      await using fixture = await begin();
      for (const body of [{ query: '{ nowhere }' }, { query: '{' }, { documentId: 'unknown' }])
        expect((await post(fixture.url, body)).text).toContain('errors');
      await operationLines(3);
      expect(warnings()).toEqual([]);
    });
  });
});

/** Waits until this number of lines is written, and returns them. */
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
