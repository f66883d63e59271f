import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startBankql } from '../../src/index.ts';
import { credentials } from '../support/bankql.ts';
import { closeNow, listenOnLoopback } from '../support/loopback.ts';
import { post } from '../support/process.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';

const value = z.looseObject({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() });
const attributes = z.array(z.object({ key: z.string(), value }));
const Batch = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              attributes: attributes.default([]),
              status: z.looseObject({ code: z.number().optional() }).optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly hasFailed: boolean;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector of OTLP over HTTP in JSON. */
interface TraceCollector extends AsyncDisposable {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Everything that arrived, unchanged: paths, headers and bodies. */
  readonly received: () => string;
}

const valuesOf = (pairs: z.infer<typeof attributes>) =>
  Object.fromEntries(
    pairs.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? intValue]),
  );

async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  let received = '';
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    received += `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}\n`;
    for (const { resource, scopeSpans } of Batch.parse(JSON.parse(body)).resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({
          ...span,
          parentSpanId: span.parentSpanId,
          hasFailed: span.status?.code === 2,
          service: String(valuesOf(resource.attributes)['service.name']),
          attributes: valuesOf(span.attributes),
        });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    received: () => received,
    [Symbol.asyncDispose]: () => closeNow(server),
  };
}

/** Traces in the collector, and their headers at the bank. */

let bank: RecordingBank;
let collector: TraceCollector;
beforeAll(async () => {
  bank = await startRecordingBank();
  collector = await startTraceCollector();
});
afterAll(async () => {
  await bank.close();
  await collector[Symbol.asyncDispose]();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${parentId}-01`;

/** Starts bankql, runs `act`, and stops bankql, which sends all spans. */
async function traced(
  environment: Readonly<Record<string, string>>,
  act: (url: string) => Promise<unknown>,
  own: Readonly<Record<string, string>> = {},
): Promise<readonly CollectedSpan[]> {
  collector.spans.length = 0;
  bank.calls.length = 0;
  // OpenTelemetry reads these variables from the process, where main.ts puts them.
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const bankql = await startBankql({
    environment: {
      BANK_BASE_URL: bank.url,
      BANK_ID: 'BANK',
      STATE_URL: 'memory:',
      PORT: '0',
      LOG_LEVEL: 'silent',
      ...environment,
      ...own,
    },
  });
  await act(bankql.url);
  await bankql.stop();
  vi.unstubAllEnvs();
  return collector.spans;
}

const query =
  'query Greeting { bank { customer(customerId: "private-id") { email } messages { totalCount } } }';
const answerAll = () => {
  bank.otherwise({ status: 500, body: 'broken' });
  bank.on('GET /v1/api/banks/BANK/customer/messages', { body: { messages: [] } });
};

test('the headers and the service name of a mounted bankql are those of its environment, not of the process', async () => {
  answerAll();
  const own = {
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=own%20key, =x,broken=%,tenant = t;p=1',
    OTEL_SERVICE_NAME: 'mounted',
  };
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const [span] = await traced(environment, (url) => post(url, query, credentials), own);
  expect(span?.service).toBe('mounted');
  expect(collector.received()).toContain('"api-key":"own key"');
  expect(collector.received()).toContain('"tenant":"t"');
  expect(collector.received()).not.toContain('broken');
});

test('an operation is a span below the caller’s, and each REST call one below it', async () => {
  answerAll();
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=the%20key',
    OTEL_SERVICE_NAME: 'the-bankql',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=test%20one',
    OTEL_SDK_DISABLED: 'false',
  };
  const spans = await traced(environment, (url) => post(url, query, { ...credentials, traceparent }));
  const operation = spans.find(({ kind }) => kind === 2);
  expect(operation).toMatchObject({
    traceId,
    parentSpanId: parentId,
    name: 'query',
    service: 'the-bankql',
    hasFailed: true,
    attributes: {
      'http.request.method': 'POST',
      'url.path': '/graphql',
      'url.scheme': 'http',
      'graphql.operation.type': 'query',
      'graphql.operation.name': 'Greeting',
      'bankql.app': 'other',
      'http.response.status_code': 200,
      'error.type': 'BANK_ERROR',
    },
  });
  const calls = spans.filter(({ kind }) => kind === 3);
  expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual([operation?.spanId, operation?.spanId]);
  const messages = calls.find(({ name }) => name === 'GET /v1/api/banks/{BANK_ID}/customer/messages');
  expect(messages).toMatchObject({
    traceId,
    hasFailed: false,
    attributes: {
      'http.request.method': 'GET',
      'url.template': '/v1/api/banks/{BANK_ID}/customer/messages',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'bankql.rest_operation': 'getMessagesOwner',
      'bankql.call_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    },
  });
  const customer = calls.find(({ name }) => name.includes('/customers/'));
  expect(customer).toMatchObject({ hasFailed: true, attributes: { 'error.type': '500' } });
  const sent = bank.calls.find(({ path }) => path.includes('/customers/'));
  expect(customer?.attributes['bankql.track_id']).toBe(sent?.headers['track-id']);
  expect(collector.received()).toContain('POST /v1/traces');
  expect(collector.received()).toContain('"api-key":"the key"');
  expect(collector.received()).toContain(
    '{"key":"deployment.environment.name","value":{"stringValue":"test one"}}',
  );
  // A span contains nothing of the request except its operation's name, and no data of the bank.
  for (const secret of [...Object.values(credentials), 'private-id', 'customerId'])
    expect(collector.received()).not.toContain(secret);
});

test('of an operation’s name, the span has the first 100 characters', async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const spans = await traced(environment, async (url) => {
    for (const length of [100, 101, 50_000])
      await post(url, `query ${'N'.repeat(length)} { __typename }`, credentials);
  });
  const names = spans.map(({ attributes }) => attributes['graphql.operation.name']);
  expect(names).toEqual(Array.from({ length: 3 }, () => 'N'.repeat(100)));
});

test('the bank is sent no traceparent', async () => {
  answerAll();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  await traced(environment, (url) => post(url, query, { ...credentials, traceparent, tracestate: 'a=b' }));
  expect(bank.calls).toHaveLength(2);
  for (const { headers } of bank.calls)
    expect(Object.keys(headers).join()).not.toMatch(/trace(parent|state)/);
});

test('a trace is recorded unless the caller, the sampler or a switch of OpenTelemetry leaves it out', async () => {
  answerAll();
  const ask = (flags: string) => (url: string) =>
    post(url, query, { ...credentials, traceparent: `00-${traceId}-${parentId}-${flags}` });
  const recorded = async (environment: Record<string, string>, flags = '01') =>
    (await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment }, ask(flags))).length > 0;
  expect(await recorded({}, '00')).toBe(false);
  expect(await recorded({ OTEL_TRACES_SAMPLER: 'always_on' }, '00')).toBe(true);
  expect(await recorded({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' })).toBe(false);
  expect(await recorded({ OTEL_TRACES_SAMPLER: 'xray', OTEL_TRACES_SAMPLER_ARG: 'a' })).toBe(true);
  expect(await recorded({ OTEL_SDK_DISABLED: 'true' })).toBe(false);
  expect(await recorded({ OTEL_SDK_DISABLED: 'false', OTEL_TRACES_EXPORTER: 'otlp' })).toBe(true);
  expect(await recorded({ OTEL_TRACES_EXPORTER: 'none' })).toBe(false);
});

test('an unavailable collector delays nothing', async () => {
  answerAll();
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  await traced(environment, async (url) => {
    expect(await post(url, '{ __typename }', credentials)).toEqual({ data: { __typename: 'Query' } });
  });
});

test('a traceparent is read as W3C Trace Context has it, and a long header is not kept', async () => {
  const given: Record<string, readonly [headers: Record<string, string>, isParent: boolean]> = {
    whole: [{ traceparent }, true],
    withState: [{ traceparent, tracestate: 'a=b' }, true],
    withLongState: [{ traceparent, tracestate: `a=${'b'.repeat(5000)}` }, true],
    laterVersion: [{ traceparent: `01-${traceId}-${parentId}-01-more` }, true],
    long: [{ traceparent: `01-${traceId}-${parentId}-01-${'m'.repeat(5000)}` }, false],
    moreBehindIt: [{ traceparent: `${traceparent}-more` }, false],
    versionFf: [{ traceparent: `ff-${traceId}-${parentId}-01` }, false],
    withoutTrace: [{ traceparent: `00-${'0'.repeat(32)}-${parentId}-01` }, false],
    withoutSpan: [{ traceparent: `00-${traceId}-${'0'.repeat(16)}-01` }, false],
    capitals: [{ traceparent: traceparent.toUpperCase() }, false],
    two: [{ traceparent: `${traceparent}, ${traceparent}` }, false],
    none: [{}, false],
  };
  const spans = await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, async (url) => {
    for (const [name, [headers]] of Object.entries(given))
      await post(url, `query ${name} { __typename }`, { ...credentials, ...headers });
  });
  const parents = spans.map(({ attributes, parentSpanId }) => [
    attributes['graphql.operation.name'],
    parentSpanId === parentId,
  ]);
  expect(Object.fromEntries(parents)).toEqual(
    Object.fromEntries(Object.entries(given).map(([name, [, isParent]]) => [name, isParent])),
  );
  expect(collector.received()).not.toMatch(/b{1000}/);
});
