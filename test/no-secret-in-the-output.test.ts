import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  claims,
  createKey,
  type Issuer,
  type IssuerKey,
  issuerName,
  sign,
  startIssuer,
} from './support/issuer.ts';
import { durable, hasPostgres, startPostgres, type TestPostgres } from './support/postgres.ts';
import { type BankqlProcess, post, runProcess, startProcess } from './support/process.ts';
import { type RecordingBank, startRecordingBank } from './support/recording-bank.ts';

/** A process gets secrets that occur nowhere else, and none of them may appear in anything that it outputs. */

const run = promisify(execFile);
const canary = (what: string) => `${what}-${randomBytes(16).toString('hex')}`;
const canaries = {
  operatorKey: canary('operator'),
  callerKey: canary('key'),
  authId: canary('caller'),
  provider: canary('provider'),
  bearer: canary('bearer'),
  statePassword: canary('password/'),
  idempotencyKey: canary('payment'),
};

/**
 * Code that is loaded before bankql. It causes faults whose errors contain everything that careless code could attach to them.
 * Requests ask for a fault with X-Fault.
 */
const saboteur = `
import crypto from 'node:crypto';
import { Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
let request;
const everything = (what) => {
  const told = JSON.stringify([request.rawHeaders, process.env.BANK_SUBSCRIPTION_KEY, process.env.STATE_URL]);
  const error = new TypeError(what + told, { cause: Object.assign(new Error(told), { request }) });
  return Object.assign(error, { headers: request.headers, raw: request.rawHeaders, environment: { ...process.env } });
};
const emit = Server.prototype.emit;
Server.prototype.emit = function (name, incoming, ...more) {
  if (name === 'request') {
    request = incoming;
    const fault = incoming.headers['x-fault'];
    if (fault === 'throw') setImmediate(() => { throw everything('thrown'); });
    if (fault === 'reject') setImmediate(() => void Promise.reject(everything('rejected')));
    if (fault === 'reject with headers') setImmediate(() => void Promise.reject(incoming.headers));
  }
  return emit.call(this, name, incoming, ...more);
};
const { randomUUID } = crypto;
crypto.randomUUID = () => {
  if (request?.headers['x-fault'] === 'inside') throw everything('inside');
  return randomUUID();
};
syncBuiltinESMExports();
`;

let postgres: TestPostgres;
let bank: RecordingBank;
let issuer: Issuer;
let key: IssuerKey;
beforeAll(async () => {
  if (hasPostgres) postgres = await startPostgres(durable);
  key = await createKey('ES256', 'k');
  issuer = await startIssuer(key);
  // The bank repeats in its answer what it was sent.
  bank = (await startRecordingBank()).otherwise((call) => {
    if (call.path.includes('reset')) return 'reset';
    const status = Number(/status-(\d+)/.exec(call.path)?.[1] ?? 200);
    const echo = JSON.stringify(call.headers);
    return { status, body: { message: echo, messages: [{ message: echo }] } };
  });
});
afterAll(async () => {
  await issuer[Symbol.asyncDispose]();
  await bank.close();
  await postgres?.stop();
});

/** The address has a password. If no PostgreSQL is installed, payments are kept in memory. */
function stateUrl(): string {
  if (!hasPostgres) return 'memory:';
  const url = new URL(postgres.url);
  url.password = canaries.statePassword;
  return String(url);
}

const base = () => ({
  NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(saboteur).toString('base64')}`,
  LOG_LEVEL: 'trace',
  METRICS_PORT: '0',
  BANK_BASE_URL: bank.url,
  BANK_ID: 'BANK',
  BANK_SUBSCRIPTION_KEY: canaries.operatorKey,
  STATE_URL: stateUrl(),
});

const headers = {
  'Ocp-Apim-Subscription-Key': canaries.callerKey,
  'Auth-Provider-Name': canaries.provider,
  'Auth-ID': canaries.authId,
  Authorization: `Bearer ${canaries.bearer}`,
};

/** Everything that can be observed of the process from outside. */
async function seenOf(bankql: BankqlProcess): Promise<string> {
  const metrics = /Metrics: (\S+)\./.exec(bankql.output())?.[1] ?? '';
  const { pid } = bankql.child;
  const scraped = await (await fetch(metrics)).text();
  expect(scraped).toContain('bankql_bank_call_seconds');
  const [commandLine, title] = await Promise.all([
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    run('ps', ['-o', 'args=', '-p', String(pid)]).then(({ stdout }) => stdout),
  ]);
  expect(title).toContain('bankql');
  return [scraped, commandLine, title].join('\n');
}

/** Searches for each secret in plain form, and in the forms in which another text may contain it. */
function expectNoCanary(text: string, secrets: readonly string[] = Object.values(canaries)) {
  for (const secret of secrets)
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      secret.slice(-32),
    ])
      expect(text).not.toContain(form);
}

const pay = `mutation { makeTransaction(input: { accountId: "a", to: { accountId: "b" },
  value: { amount: "1" }, idempotencyKey: "${canaries.idempotencyKey}" }) { payment { trackId } } }`;

const put = 'mutation { putProduct(input: { product: {} }) { trackId } }';

/** Queries that succeed, that the bank refuses, that fail, and that are invalid. */
const queries = [
  '{ bank { messages { nodes { message } } } }',
  ...[400, 401, 429, 500, 503].map(
    (status) => `{ bank { customer(customerId: "status-${status}") { email } } }`,
  ),
  '{ bank { customer(customerId: "reset") { email } } }',
  put,
  'mutation { putCustomer(input: { customerId: "status-500", customer: {} }) { trackId } }',
  '{ bank { unknown } }',
  '{',
  pay,
  `{ payment(idempotencyKey: "${canaries.idempotencyKey}") { state } }`,
];

// Each test sends many requests to its own process, which takes time on a busy machine.
describe('a process that is asked for all that it can do', () => {
  test('tells none of its secrets in its output, its metrics or its command line', async () => {
    await using bankql = await startProcess(base());
    for (const query of queries) await post(bankql.url, query, headers);
    await fetch(`${bankql.url}/graphql?subscription-key=${canaries.callerKey}&query={`, { headers });
    await fetch(`${bankql.url}/${canaries.authId}`, { headers: { ...headers, Host: canaries.callerKey } });
    await fetch(`${bankql.url}/graphql`, { method: 'POST', headers, body: canaries.callerKey });
    const inside = { ...headers, 'X-Fault': 'inside', 'X-Request-Id': 'request-of-the-test' };
    expect(await post(bankql.url, put, inside)).toMatchObject({
      errors: [{ extensions: { code: 'INTERNAL' } }],
    });
    // Payments are refused from now on, and the log says why.
    await postgres?.kill();
    await post(bankql.url, pay.replace('payment', 'another'), headers);
    const seen = await seenOf(bankql);
    expect(await bankql.stop()).toBe(0);
    await postgres?.restart();
    const lines = bankql.output().split('\n');
    const logged = lines.find((line) => line.includes('unexpected error')) ?? '';
    expect(JSON.parse(logged)).toMatchObject({
      requestId: 'request-of-the-test',
      err: {
        type: 'TypeError',
        message: expect.stringMatching(/^inside.*redacted/),
        stack: expect.any(String),
      },
    });
    expect(Object.keys(JSON.parse(logged).err)).toEqual(['type', 'stack', 'message', 'cause']);
    // Makes sure that the secrets did reach the bank.
    expect(JSON.stringify(bank.calls)).toContain(canaries.operatorKey);
    expect(JSON.stringify(bank.calls)).toContain(canaries.authId);
    expectNoCanary(bankql.output() + seen);
  });

  test('nor where tokens say who calls', async () => {
    await using bankql = await startProcess({
      ...base(),
      RATE_LIMIT: '2/60',
      IDENTITY: 'jwt',
      IDENTITY_JWKS_URL: issuer.jwksUrl,
      IDENTITY_ISSUER: issuerName,
      IDENTITY_AUDIENCE: 'bankql',
      IDENTITY_CLAIMS: 'provider sub',
    });
    const token = await sign(key, claims({ sub: canaries.authId, provider: canaries.provider }));
    const expired = await sign(key, claims({ sub: canaries.authId, provider: canaries.provider }, -3600));
    const authorized = { Authorization: `Bearer ${token}` };
    for (const fault of ['inside', 'none', 'none', 'none'])
      await post(bankql.url, put, { ...authorized, 'X-Fault': fault, 'X-Request-Id': 'x' });
    for (const wrong of [expired, `${token}x`, canaries.bearer])
      await post(bankql.url, put, { Authorization: `Bearer ${wrong}` });
    await post(bankql.url, put, { ...authorized, ...headers });
    const seen = await seenOf(bankql);
    expect(await bankql.stop()).toBe(0);
    const [, payload = '', signature = ''] = token.split('.');
    expect(bankql.output()).toContain('bearer token: expired');
    expect(bankql.output()).toContain('unexpected error');
    expectNoCanary(bankql.output() + seen, [...Object.values(canaries), payload, signature, token]);
  });
});

test('a process that cannot start because its store is away tells no secret', async () => {
  const url = new URL('postgres://bankql@127.0.0.1:1/bankql');
  url.password = canaries.statePassword;
  const { code, output } = await runProcess({ ...base(), STATE_URL: String(url) });
  expect(code).toBe(1);
  expect(output).toContain('STATE_URL has to name a PostgreSQL that runs');
  expectNoCanary(output);
});

describe('a process that cannot go on while a request is under way', () => {
  test.each(['throw', 'reject', 'reject with headers'])(
    '(%s) says where in one line, ends with 1, and tells no secret',
    async (fault) => {
      await using bankql = await startProcess(base());
      const printed = bankql.output().length;
      const asked = { ...headers, 'X-Fault': fault };
      const answers = Promise.allSettled(
        Array.from({ length: 5 }, () =>
          post(bankql.url, '{ bank { customer(customerId: "c") { email } } }', asked),
        ),
      );
      const ended = new Promise((resolve) => bankql.child.once('close', resolve));
      expect(await ended).toBe(1);
      await answers;
      const lines = bankql.output().slice(printed).trimEnd().split('\n');
      const last = lines.filter((line) => line.includes('bankql cannot go on'));
      expect(last).toHaveLength(1);
      expect(JSON.parse(last[0] ?? '')).toMatchObject({
        level: 60,
        err: {
          type: fault === 'reject with headers' ? 'UnhandledPromiseRejection' : 'TypeError',
          stack: expect.any(String),
        },
      });
      for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
      expectNoCanary(bankql.output());
    },
  );
});
