import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import { createTestBankql, type Result, type TestBankql, type TestOptions } from '../support/bankql.ts';
import { type Act, answer, type FaultyBank, reply, startFaultyBank } from '../support/faulty-bank.ts';

/** The deadline is long, except in the tests in which the bank never answers. */
const deadlineMs = 60_000;
/** The settings of production, except for deadlines. */
const asInProduction = {
  ...readConfig({}).bankLimits,
  retryShare: 0.1,
  timeoutMs: deadlineMs,
  paymentTimeoutMs: deadlineMs,
  connectTimeoutMs: deadlineMs,
  maxBodyBytes: 64 * 1024,
};

/** Texts that occur nowhere else in these tests. */
const secrets = {
  key: `key-${randomUUID()}`,
  provider: `provider-${randomUUID()}`,
  authId: `caller-${randomUUID()}`,
  idempotencyKey: `payment-${randomUUID()}`,
  operatorKey: `operator-${randomUUID()}`,
};
const caller = {
  'Ocp-Apim-Subscription-Key': secrets.key,
  'Auth-Provider-Name': secrets.provider,
  'Auth-ID': secrets.authId,
};

const telemetryLog: string[] = [];
const logger = pino({ level: 'trace' }, { write: (line: string) => void telemetryLog.push(line) });
const telemetry = createTelemetry(logger, logger);
afterAll(() => telemetry.registry.clear());

const bankqlOver = (bank: FaultyBank, options: Partial<TestOptions> = {}) =>
  createTestBankql({
    bankUrl: bank.url,
    ...options,
    bankOptions: {
      ...asInProduction,
      onCall: telemetry.onCall,
      onShared: telemetry.onShared,
      onBreaker: telemetry.onBreaker,
      onDrift: telemetry.onDrift,
      ...options.bankOptions,
    },
  });

const questions = [
  { what: 'a GET', document: '{ bank { branches { totalCount } } }' },
  {
    what: 'a PUT',
    document: 'mutation { putCustomer(input: { customerId: "c", customer: {} }) { trackId } }',
  },
  {
    what: 'a payment',
    document: `mutation ($key: String!) { makeTransaction(input: {
      accountId: "a", to: { accountId: "b" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: $key
    }) { replayed payment { trackId } } }`,
  },
] as const;

const codeOf = (result: Result<unknown>) => result.errors?.[0]?.extensions.code ?? 'DONE';

let asked = 0;
async function ask(bankql: TestBankql, { document }: { readonly document: string }, headers = caller) {
  const key = `${secrets.idempotencyKey}-${++asked}`;
  const result = await bankql.ask(document, { key }, headers);
  return { result, code: codeOf(result) };
}

/** Checks everything that is sent or logged. Only the caller's own answer may contain the caller's idempotency key. */
async function expectNoSecrets(bankql: TestBankql, ...results: readonly Result<unknown>[]) {
  const answers = JSON.stringify(results, (name, value) => (name === 'idempotencyKey' ? undefined : value));
  const told = [
    answers,
    ...bankql.log,
    ...telemetryLog.splice(0),
    JSON.stringify(bankql.audit),
    await telemetry.registry.metrics(),
  ].join('\n');
  for (const [name, secret] of Object.entries(secrets))
    expect(told.includes(secret), `${name} is in ${told.slice(0, 2000)}`).toBe(false);
  return told;
}

/** Forms in which a bank may repeat a request's headers. */
const echoes: readonly ((headers: string) => string)[] = [
  (headers) => JSON.stringify({ message: headers }),
  (headers) => JSON.stringify({ title: 'no', detail: headers, error: headers.toUpperCase().slice(0, 20) }),
  (headers) => JSON.stringify({ request: { headers: headers.split('\r\n') } }),
  (headers) => JSON.stringify(headers),
  (headers) => headers,
  (headers) => `{"message":"${headers.replaceAll('\r\n', ' ')}`,
  (headers) => `<html><pre>${headers}</pre></html>`,
];
const statuses = [200, 302, 400, 401, 403, 429, 500, 503];

describe.each([
  ['the caller’s key', {}],
  ['the operator’s key', { authenticate: authenticateByHeaders(secrets.operatorKey) }],
] as const)('a bank that repeats all request headers, with %s', (_, options) => {
  test.each(questions)('reveals no secret in answers, logs or metrics: $what', async (question) => {
    await using bank = await startFaultyBank();
    await using bankql = await bankqlOver(bank, { ...options, bankOptions: { breakerThreshold: 0 } });
    const results: Result<unknown>[] = [];
    for (const status of statuses) {
      for (const echo of echoes) {
        const act: Act = (socket) => {
          const headers = bank.requests.at(-1)?.split('\r\n\r\n')[0] ?? '';
          const [, ...lines] = headers.split('\r\n');
          const body = echo(lines.join('\r\n'));
          socket.write(answer(status, body, { 'X-Echo': lines.join(' '), Location: `/${lines.join('')}` }));
        };
        bank.behave(act);
        results.push((await ask(bankql, question)).result);
      }
    }
    // An echo in the body, and an answer whose status text and header names come from the request.
    const raw: readonly ((request: string) => string)[] = [
      (request) => request,
      (request) => `HTTP/1.1 403 ${request.replaceAll(/[\r\n]+/g, ' ')}\r\nContent-Length: 0\r\n\r\n`,
      (request) => `HTTP/1.1 403 No\r\n${request.replaceAll(/[\r\n]+/g, ' ')}\r\n\r\n`,
    ];
    for (const echo of raw) {
      bank.behave((socket) => void socket.write(echo(bank.requests.at(-1) ?? '')));
      results.push((await ask(bankql, question)).result);
    }
    // Makes sure that the headers did reach the bank, and that some of the bank's text did reach the caller
    // and the log.
    const sent = bank.requests.join();
    expect(sent).toContain('authenticate' in options ? secrets.operatorKey : secrets.key);
    expect(sent).not.toContain(secrets.idempotencyKey);
    const told = await expectNoSecrets(bankql, ...results);
    expect(told).toContain('[redacted]');
    // bankql does not understand a refusal of a payment if the refusal quotes the request.
    const isPayment = question.what === 'a payment';
    expect(JSON.stringify(results).includes('[redacted]')).toBe(!isPayment);
  });
});

test('pages, health and metrics do not show the credentials of their request', async () => {
  await using bank = await startFaultyBank(reply(500, '{}'));
  await using bankql = await bankqlOver(bank, {
    authenticate: authenticateByHeaders(secrets.operatorKey),
    graphiql: { headers: null },
  });
  const pages = [];
  for (const path of ['/graphql', '/health', '/ready', '/nowhere']) {
    const response = await bankql.fetch(
      new Request(`http://bankql.test${path}?subscription-key=${secrets.key}`, {
        headers: {
          Accept: 'text/html,application/xhtml+xml',
          'Auth-Provider-Name': secrets.provider,
          'Auth-ID': secrets.authId,
        },
      }),
    );
    pages.push([...response.headers].join(), await response.text());
  }
  const text = pages.join('\n');
  expect(text).toContain('GraphiQL');
  for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  await expectNoSecrets(bankql);
});

test('a credential that is refused is not repeated', async () => {
  await using bank = await startFaultyBank(reply(500, '{}'));
  await using bankql = await bankqlOver(bank);
  const long = `${secrets.key}${'x'.repeat(300)}`;
  const [question] = questions;
  if (question === undefined) return;
  const results = [
    await ask(bankql, question, { ...caller, 'Ocp-Apim-Subscription-Key': long }),
    await ask(bankql, question, { ...caller, 'Auth-ID': `${secrets.authId}é` }),
  ].map(({ result }) => result);
  expect(results.map(codeOf)).toEqual(['BAD_USER_INPUT', 'BAD_USER_INPUT']);
  expect(bank.requests).toEqual([]);
  await expectNoSecrets(bankql, ...results);
});
