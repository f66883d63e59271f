import type { Socket } from 'node:net';
import fc from 'fast-check';
import { GraphQLError, isInputObjectType, isObjectType, OperationTypeNode, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/errors.ts';
import { DocumentCacheStats } from '../../src/graphql/documents.ts';
import { OperationActivity } from '../../src/graphql/operation-activity.ts';
import { schema } from '../../src/schema/schema.ts';
import { watchPools } from '../../src/telemetry/metrics.ts';
import { serveMetrics } from '../../src/telemetry/metrics-server.ts';
import {
  createGraphQLMetrics,
  createOperationLabel,
  createOperationObserver,
} from '../../src/telemetry/operation-observer.ts';
import { createTestClient } from '../support/bank-client.ts';
import { credentials } from '../support/bankql.ts';
import { startFaultyBank } from '../support/faulty-bank.ts';
import { postOf } from '../support/requests.ts';
import { canaries, sampleCalls } from '../support/sample-calls.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** The metrics of GraphQL. Those of REST calls are tested in metrics.test.ts. */

const logger = pino({ level: 'silent' });

const samplesOf = async (registry: Registry, name: string) =>
  (await registry.getSingleMetric(name)?.get())?.values.map(({ labels, value }) => [labels, value]) ?? [];

/** bankql in front of a bank, with the registry that counts its operations. */
async function startCounted(options: Parameters<typeof startServerFixture>[0] = {}) {
  const registry = new Registry();
  const documentStats = new DocumentCacheStats();
  const metrics = createGraphQLMetrics(registry, documentStats, schema);
  const observer = createOperationObserver({ logger, metrics, tracing: null, callerHash: () => null });
  return { ...(await startServerFixture({ observer, documentStats, ...options })), registry };
}

test('requests are counted by operation, kind and outcome, errors by code, documents by whether they were kept', async () => {
  await using fixture = await startCounted();
  const { registry } = fixture;
  const ask = async (query: string) => (await fetch(fixture.url, postOf({ query }))).text();
  await ask('query Typename { __typename }');
  await ask('query Typename { __typename }');
  await ask(
    '{ bank { a: customer(customerId: "a") { email } b: customer(customerId: "b") { email } bankId } }',
  );
  await ask('{');
  await expect
    .poll(() => samplesOf(registry, 'bankql_graphql_requests_total'))
    .toEqual([
      [{ operation: 'other', kind: 'query', outcome: 'ok', fault: 'none' }, 2],
      [{ operation: 'other', kind: 'query', outcome: 'partial', fault: 'client' }, 1],
      [{ operation: 'other', kind: 'unknown', outcome: 'failed', fault: 'client' }, 1],
    ]);
  const counted = await samplesOf(registry, 'bankql_graphql_errors_total');
  // Every code starts at 0.
  expect(counted).toHaveLength(Object.keys(errorCodes).length + 1);
  expect(counted.filter(([, count]) => count !== 0)).toEqual([
    [{ code: 'NOT_FOUND' }, 2],
    [{ code: 'GRAPHQL_PARSE_FAILED' }, 1],
  ]);
  expect(await samplesOf(registry, 'bankql_graphql_duration_seconds')).toContainEqual([
    { operation: 'other' },
    4,
  ]);
  expect(await samplesOf(registry, 'bankql_document_cache_total')).toEqual([
    [{ result: 'hit' }, 1],
    [{ result: 'miss' }, 3],
  ]);
});

describe('what is deprecated', () => {
  /** Deprecates parts of the schema while a test runs. */
  function deprecate(...parts: readonly object[]) {
    for (const part of parts) Object.assign(part, { deprecationReason: 'Use another.' });
    return {
      [Symbol.dispose]: () => parts.forEach((part) => void Reflect.deleteProperty(part, 'deprecationReason')),
    };
  }
  const fieldOf = (type: string, name: string) => {
    const found = schema.getType(type);
    if (!isObjectType(found) && !isInputObjectType(found)) throw new Error(`there is no type ${type}`);
    const field = found.getFields()[name];
    if (field === undefined) throw new Error(`there is no field ${type}.${name}`);
    return field;
  };
  const argumentOf = (type: string, name: string, argument: string) => {
    const field = fieldOf(type, name);
    const found = 'args' in field ? field.args.find((each) => each.name === argument) : undefined;
    if (found === undefined) throw new Error(`there is no argument ${type}.${name}(${argument}:)`);
    return found;
  };

  test('is counted for each operation that uses it, by coordinate and by the app of its manifest', async () => {
    using _ = deprecate(
      fieldOf('Bank', 'bankId'),
      argumentOf('Bank', 'customer', 'customerId'),
      fieldOf('PayeeInput', 'bankId'),
      fieldOf('Customer', 'email'),
    );
    const text =
      'query Used { bank { ...Ids again: bankId } } query Unused { __typename } fragment Ids on Bank { bankId }';
    const persisted = {
      documents: {
        texts: new Map([['id', text]]),
        parsed: new Map([[text, { node: parse(text), apps: ['ios-4.1', 'ios-4.2'] }]]),
      },
      only: false,
    };
    await using fixture = await startCounted({ persisted });
    const { registry } = fixture;
    const ask = async (body: object, headers = {}) =>
      (await fetch(fixture.url, postOf(body, { ...credentials, ...headers }))).text();
    const client = { 'graphql-client-name': 'ios', 'graphql-client-version': '4.1' };
    await ask({ documentId: 'id', operationName: 'Used' }, client);
    await ask({ documentId: 'id', operationName: 'Used' }, client);
    await ask({ documentId: 'id', operationName: 'Used' });
    await ask({ documentId: 'id', operationName: 'Unused' });
    await ask({ query: '{ bank { customer(customerId: "c") { customerId } } }' }, client);
    await ask({
      query:
        'mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B", bankId: "B" }, value: { amount: "0" }, idempotencyKey: "k" }) { userErrors { code } } }',
    });
    await ask({ query: '{ bank { nowhere bankId } }' });
    await expect
      .poll(() => samplesOf(registry, 'bankql_deprecated_uses_total'))
      .toEqual([
        [{ coordinate: 'Bank.bankId', app: 'ios-4.1' }, 2],
        [{ coordinate: 'Bank.bankId', app: 'several' }, 1],
        [{ coordinate: 'Bank.customer(customerId:)', app: 'other' }, 1],
        [{ coordinate: 'PayeeInput.bankId', app: 'other' }, 1],
      ]);
  });

  test('has 200 labels of apps at most', () => {
    const registry = new Registry();
    const metrics = createGraphQLMetrics(registry, new DocumentCacheStats(), schema);
    for (let n = 0; n < 250; n++) {
      const activity = new OperationActivity('id');
      activity.operation = {
        ...{ kind: OperationTypeNode.QUERY, name: null, documentHash: '', apps: [`app-${n}`] },
        deprecatedIn: () => ['Bank.bankId'],
      };
      metrics.observe(activity);
    }
    return expect(samplesOf(registry, 'bankql_deprecated_uses_total')).resolves.toHaveLength(201);
  });
});

test('the codes of a plugin are one label, however many there are, and no fault of bankql', async () => {
  let refusals = 0;
  const plugin: Plugin = {
    onExecute({ setResultAndStopExecution }) {
      const extensions = { code: `QUOTA_${refusals++}` };
      setResultAndStopExecution({ data: null, errors: [new GraphQLError('No.', { extensions })] });
    },
  };
  await using fixture = await startCounted({ plugins: [plugin] });
  const { registry } = fixture;
  for (let n = 0; n < 3; n++) {
    const { errors } = await (await fetch(fixture.url, postOf({ query: '{ __typename }' }))).json();
    expect(errors).toMatchObject([{ extensions: { code: `QUOTA_${n}` } }]);
  }
  await expect
    .poll(async () =>
      (await samplesOf(registry, 'bankql_graphql_errors_total')).filter(([, count]) => count !== 0),
    )
    .toEqual([[{ code: 'other' }, 3]]);
  expect(await samplesOf(registry, 'bankql_graphql_requests_total')).toEqual([
    [{ operation: 'other', kind: 'query', outcome: 'failed', fault: 'client' }, 3],
  ]);
});

test('places among the connections, and waits for them, are those of each REST operation', async () => {
  const registry = new Registry();
  await using bank = await startFaultyBank();
  const held: Socket[] = [];
  bank.behave((socket) => void held.push(socket));
  await using client = createTestClient(bank.url, { connections: 1 });
  watchPools(registry, client.poolUsage);
  const read = sampleCalls.getCustomer;
  const calls = ['a', 'b'].map((id) => read.run(client, canaries, { customerId: id }).catch(() => {}));
  await expect.poll(() => held.length).toBe(1);
  const labels = { bank_operation: 'getCustomer', pool: 'kept' };
  expect(await samplesOf(registry, 'bankql_bank_places_taken')).toEqual([[labels, 1]]);
  expect(await samplesOf(registry, 'bankql_bank_places_waited_for')).toEqual([[labels, 1]]);
  bank.behave((socket) => void socket.destroy());
  for (const socket of held) socket.destroy();
  await Promise.all(calls);
  await expect.poll(() => samplesOf(registry, 'bankql_bank_places_taken')).toEqual([[labels, 0]]);
  expect(await samplesOf(registry, 'bankql_bank_places_waited_for')).toEqual([[labels, 0]]);
  expect(await samplesOf(registry, 'bankql_bank_place_waits_total')).toContainEqual([labels, 1]);
});

describe('the port of the metrics', () => {
  test('answers GET and HEAD of /metrics, and nothing else', async () => {
    const server = await serveMetrics(new Registry(), { host: '127.0.0.1', port: 0 });
    const ask = async (path: string, method = 'GET') => {
      const response = await fetch(new URL(path, server.url), { method });
      return [response.status, response.headers.get('allow')];
    };
    expect(await ask('/metrics')).toEqual([200, null]);
    expect(await ask('/metrics?name=x', 'HEAD')).toEqual([200, null]);
    for (const path of ['/', '/metrics/', '/graphql', '/health'])
      expect(await ask(path)).toEqual([404, null]);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(await ask('/metrics', method)).toEqual([405, 'GET, HEAD']);
    await server.close();
  });
});

const named = (name: string | null, isPersisted = false) => ({ name, apps: isPersisted ? ['app'] : [] });

test('names are those of persisted documents', () => {
  const shown = [named('A'), named('B', true), named('B'), named(null, true), null].map(
    createOperationLabel(),
  );
  expect(shown).toEqual(['other', 'B', 'other', 'other', 'other']);
});

test('there are 200 names at most, whoever asks, and a name stays what it was', () => {
  const operations = fc.array(fc.record({ name: fc.nat(400), isPersisted: fc.boolean() }), {
    maxLength: 1000,
  });
  fc.assert(
    fc.property(operations, (asked) => {
      const labelOf = createOperationLabel();
      const labels = asked.map(({ name, isPersisted }) => labelOf(named(`N${name}`, isPersisted)));
      expect(new Set(labels).size).toBeLessThanOrEqual(201);
      expect(asked.map(({ name, isPersisted }) => labelOf(named(`N${name}`, isPersisted)))).toEqual(labels);
    }),
    { numRuns: 20 },
  );
  const labelOf = createOperationLabel();
  const labels = Array.from({ length: 250 }, (_, index) => labelOf(named(`N${index}`, true)));
  expect(labels.filter((label) => label === 'other')).toHaveLength(50);
});
