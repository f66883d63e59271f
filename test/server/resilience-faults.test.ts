import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { authenticateByHeaders } from '../../src/server/auth/header-credentials.ts';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import { createTestBankql, type Result, type TestBankql, type TestOptions } from '../support/bankql.ts';
import { broken, type Fault, faults, late } from '../support/faults.ts';
import {
  type Act,
  answer,
  type FaultyBank,
  lineOf,
  reply,
  startFaultyBank,
  write,
} from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { clock } from '../support/monotonic-clock.ts';

/** It passes only where the bank lets it pass; there it is short. */
const deadlineMs = 60_000;
const lateDeadlineMs = 250;

/** As in production, but for the time that it takes. */
const asInProduction = {
  ...readConfig({}).bankLimits,
  retryShare: 0.1,
  timeoutMs: deadlineMs,
  paymentTimeoutMs: deadlineMs,
  connectTimeoutMs: deadlineMs,
  maxBodyBytes: 64 * 1024,
};

/** Texts that no other text of these tests holds. */
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

interface Question {
  readonly what: string;
  /** What it costs the bank, first line. */
  readonly line: string;
  readonly good: string;
  readonly document: string;
  /** How a fault has to end: a code, or DONE. */
  expected(fault: Fault): string;
  /** How often the bank is asked. */
  attempts(fault: Fault): number;
}

/** No whole answer, or a proxy's word that the bank is away, but not for how long: a read is made once more. */
const isMoment = ({ codes, status, retryAfter = 1 }: Fault) =>
  retryAfter === 1 && (codes === broken || [502, 503, 504].includes(status ?? 0));
/** With this a payment was refused for certain. Other refusals need a text that bankql knows, and these are `{}`. */
const refused = 401;
const questions: readonly Question[] = [
  {
    what: 'a GET',
    line: 'GET /v1/api/banks/BANK/branches HTTP/1.1',
    good: '{"branches":[]}',
    document: '{ bank { branches { totalCount } } }',
    expected: ({ codes }) => codes[0],
    attempts: (fault) => (isMoment(fault) ? 2 : 1),
  },
  {
    what: 'a PUT',
    line: 'PUT /v1/api/banks/BANK/customers/c HTTP/1.1',
    good: '{"legal_name":"C"}',
    document: 'mutation { putCustomer(input: { customerId: "c", customer: {} }) { trackId } }',
    expected: ({ codes }) => codes[1],
    attempts: () => 1,
  },
  {
    what: 'a payment',
    line: 'POST /v1/api/banks/BANK/accounts/a/make-transaction HTTP/1.1',
    good: '{}',
    document: `mutation ($key: String!) { makeTransaction(input: {
      accountId: "a", to: { accountId: "b" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: $key
    }) { replayed payment { trackId } } }`,
    expected({ codes, status }) {
      if (status === 204) return 'DONE';
      return status === refused ? codes[1] : 'OUTCOME_UNKNOWN';
    },
    attempts: () => 1,
  },
];

/** What a bank does when nothing is wrong with its words but their form; these are RELIABILITY's U3, U11 and U20. */
const furtherFaults: readonly Fault[] = [
  ...[301, 302, 303, 307, 308].map(
    (status): Fault => ({
      what: `answers with ${status} to another place`,
      act: reply(status, '{}', { Location: 'http://127.0.0.1:9/v1/api' }),
      codes: ['BANK_BAD_RESPONSE', 'BANK_BAD_RESPONSE'],
      status,
    }),
  ),
  { what: 'says goodbye in plain text', act: write('goodbye\r\n\r\n'), codes: broken },
];

const codeOf = (result: Result<unknown>) => result.errors?.[0]?.extensions.code ?? 'DONE';

let asked = 0;
async function ask(bankql: TestBankql, { document }: Question, headers = caller) {
  const started = performance.now();
  const key = `${secrets.idempotencyKey}-${++asked}`;
  const result = await bankql.ask(document, { key }, headers);
  return { result, code: codeOf(result), elapsedMs: performance.now() - started };
}

/** What is told to anybody: the caller's own answer may name the caller's own idempotency key. */
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

/** The same, and until then no time passes: no deadline ends before the request has arrived, however busy the machine is. */
function withTimeFrom(act: Act): Act {
  const beginning = clock.real();
  const goOn = () => void Object.assign(clock, { now: clock.real });
  clock.now = () => beginning;
  onTestFinished(goOn);
  return (socket) => {
    goOn();
    act(socket);
  };
}

describe.each(questions)('$what to a bank that', (question) => {
  test.each([...faults, ...furtherFaults])('$what', async (fault) => {
    const timeoutMs = fault.codes === late ? lateDeadlineMs : deadlineMs;
    await using bank = await startFaultyBank();
    await using bankql = await bankqlOver(bank, { bankOptions: { timeoutMs, paymentTimeoutMs: timeoutMs } });
    bank.behave(fault.codes === late ? withTimeFrom(fault.act) : fault.act);
    const first = await ask(bankql, question);
    expect(first.code).toBe(question.expected(fault));
    expect(first.elapsedMs).toBeLessThan(inTimeMs);
    expect(bank.requests.map(lineOf)).toEqual(Array(question.attempts(fault)).fill(question.line));
    // What stays is a connection that was read to its end, and is kept for the next read.
    const kept = question.what === 'a GET' && fault.status !== undefined ? 1 : 0;
    await expect.poll(bank.open, { interval: 5 }).toBeLessThanOrEqual(kept);

    bank.behave(reply(200, question.good));
    let next = await ask(bankql, question);
    const isFirst = next.code === 'DONE';
    // A bank that is well is late as well at times, on a busy machine.
    while (fault.codes === late && next.code !== 'DONE') next = await ask(bankql, question);
    expect([next.code, next.result.errors]).toEqual(['DONE', undefined]);
    if (isFirst) expect(bank.requests).toHaveLength(question.attempts(fault) + 1);
    await expectNoSecrets(bankql, first.result, next.result);
  });

  test('refuses connections', async () => {
    await using bank = await startFaultyBank(reply(200, question.good));
    await using bankql = await bankqlOver(bank);
    await bank.close();
    const first = await ask(bankql, question);
    // Nothing was sent: not even a payment is in doubt.
    expect(first.code).toBe('BANK_UNAVAILABLE');
    expect(first.elapsedMs).toBeLessThan(inTimeMs);
    await bank.listen();
    expect((await ask(bankql, question)).code).toBe('DONE');
    expect(bank.requests).toHaveLength(1);
    await expectNoSecrets(bankql, first.result);
  });
});

/** Ways to write a request's headers back. */
const echoes: readonly ((headers: string) => string)[] = [
  (headers) => JSON.stringify({ message: headers }),
  (headers) => JSON.stringify({ title: 'no', detail: headers, error: headers.toUpperCase().slice(0, 20) }),
  (headers) => JSON.stringify({ request: { headers: headers.split('\r\n') } }),
  (headers) => JSON.stringify(headers),
  (headers) => headers,
  (headers) => `{"message":"${headers.replaceAll('\r\n', ' ')}`,
  (headers) => `<html><pre>${headers}</pre></html>`,
];
const statuses = [200, 302, 400, 401, 403, 404, 409, 422, 429, 500, 501, 502, 503];

describe.each([
  ['the caller’s key', {}],
  ['the operator’s key', { authenticate: authenticateByHeaders(secrets.operatorKey) }],
] as const)('a bank that writes all headers back, with %s', (_, options) => {
  test.each(questions)('tells nobody a secret of $what', async (question) => {
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
    // An echo, and an answer whose status line and header names are what was asked.
    const raw: readonly ((request: string) => string)[] = [
      (request) => request,
      (request) => `HTTP/1.1 403 ${request.replaceAll(/[\r\n]+/g, ' ')}\r\nContent-Length: 0\r\n\r\n`,
      (request) => `HTTP/1.1 403 No\r\n${request.replaceAll(/[\r\n]+/g, ' ')}\r\n\r\n`,
    ];
    for (const echo of raw) {
      bank.behave((socket) => void socket.write(echo(bank.requests.at(-1) ?? '')));
      results.push((await ask(bankql, question)).result);
    }
    // The headers did reach the bank, and some of its text did reach the caller and the log.
    const sent = bank.requests.join();
    expect(sent).toContain('authenticate' in options ? secrets.operatorKey : secrets.key);
    expect(sent).not.toContain(secrets.idempotencyKey);
    const told = await expectNoSecrets(bankql, ...results);
    expect(told).toContain('[redacted]');
    expect(JSON.stringify(results)).toContain('[redacted]');
  });
});

test('pages, health and metrics show nothing of the credentials that came with their request', async () => {
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
