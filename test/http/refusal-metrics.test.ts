import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import { claims, createKey, type Issuer, type IssuerKey, sign, startIssuer } from '../support/issuer.ts';
import { post, startProcess } from '../support/process.ts';
import { answerTo } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** Refusals are counted, with labels from a fixed set of words. */

let key: IssuerKey;
let issuer: Issuer;
beforeAll(async () => {
  key = await createKey('ES256', 'k');
  issuer = await startIssuer(key);
});
afterAll(() => issuer[Symbol.asyncDispose]());

/** The values, by labels, of the metrics whose names have this prefix. */
const counted = (text: string, name: string) =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))].map(([, labels = '', value]) => [
      labels.replaceAll('"', ''),
      Number(value),
    ]),
  );

const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const chunks = `${head}Transfer-Encoding: chunked\r\n\r\n${`2710\r\n${'x'.repeat(10_000)}\r\n`.repeat(11)}`;

test('requests that are refused before they are operations are counted by status', async () => {
  const silent = pino({ level: 'silent' });
  const telemetry = createTelemetry(silent, silent);
  await using fixture = await startServerFixture({
    http: { corsOrigins: new Set(), onlyLocalNames: true },
    onHttpRefusal: telemetry.onHttpRefusal,
  });
  for (const [status, text] of [
    [413, `${head}Content-Length: 100001\r\n\r\n`],
    [413, chunks],
    [415, `${head.replace('application/json', 'text/plain')}Content-Length: 1\r\n\r\n{`],
    [421, 'GET /graphql HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n'],
    [400, 'GET /graphql HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'],
    [404, 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
    [431, `${head}Cookie: ${'x'.repeat(20_000)}\r\n\r\n`],
    [400, 'GARBAGE\r\n\r\n'],
  ] as const)
    expect(await answerTo(fixture.url, text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(counted(await telemetry.registry.metrics(), 'bankql_http_refusals_total')).toEqual({
    'status=400': 2,
    'status=408': 0,
    'status=413': 2,
    'status=415': 1,
    'status=421': 1,
    'status=431': 1,
  });
  telemetry.registry.clear();
});

test('a request for an unknown path is 404 and is not counted as an operation', async () => {
  const begun: string[] = [];
  const observer = {
    begin(requestId: string) {
      begun.push(requestId);
      return null;
    },
    end() {},
  };
  const refused: number[] = [];
  await using fixture = await startServerFixture({
    observer,
    onHttpRefusal: (status) => void refused.push(status),
  });
  const form = 'Content-Type: application/x-www-form-urlencoded\r\n';
  for (const [path, length] of [
    ['/wp-login.php', 2],
    ['/', 100_001],
    ['/graphq', 2],
    ['/graphql/graphiql-0123456789abcdef/main.js', 2],
  ] as const) {
    const text = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${form}Content-Length: ${length}\r\n\r\n{}`;
    expect(await answerTo(fixture.url, text)).toMatch(/^HTTP\/1.1 404 [\s\S]*\r\nConnection: close\r\n/);
  }
  expect([begun, refused, fixture.log]).toEqual([[], [], []]);
  const text = `POST /graphql HTTP/1.1\r\nHost: localhost\r\n${form}Content-Length: 2\r\n\r\n{}`;
  expect(await answerTo(fixture.url, text)).toMatch(/^HTTP\/1.1 415 /);
  expect([begun.length, refused]).toEqual([1, [415]]);
});

test('a page, also an unknown one, keeps its connection', async () => {
  await using fixture = await startServerFixture();
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`;
  const answers = await answerTo(
    fixture.url,
    `${get('/favicon.ico')}\r\n${get('/health')}Connection: close\r\n\r\n`,
  );
  expect(answers).toMatch(/^HTTP\/1.1 404 [\s\S]*Connection: keep-alive[\s\S]*HTTP\/1.1 200 /);
});

test('the metrics of a process have all refusals, and no text of callers', async () => {
  await using bankql = await startProcess({
    BANK_SUBSCRIPTION_KEY: 'sandbox-key',
    METRICS_PORT: '0',
    ...issuer.variables,
    IDENTITY_CLAIMS: 'provider sub',
    RATE_LIMIT: '1/60',
  });
  const token = await sign(key, claims({ provider: 'sandbox' }));
  const read = (id: string) => `${id}: account(accountId: "${id}") { label }`;
  const ask = (bearer: string) =>
    post(bankql.url, `{ bank { ${read('a')} ${read('b')} } }`, { Authorization: `Bearer ${bearer}` });
  await post(bankql.url, '{ __typename }', {});
  await ask('nonsense');
  await ask(await sign(key, claims({ iss: 'https://evil.example/' })));
  await ask(token);
  await ask(token);
  await answerTo(bankql.url, `${head}Content-Length: 100001\r\n\r\n`);
  const metrics = /Metrics: (\S+)\./.exec(bankql.output())?.[1] ?? '';
  const text = await (await fetch(metrics)).text();
  expect(counted(text, 'bankql_token_refusals_total')).toEqual({
    'why=no token': 1,
    'why=malformed': 1,
    'why=claims': 1,
    'why=algorithm': 0,
    'why=bound to its sender': 0,
    'why=expired': 0,
    'why=key': 0,
    'why=no keys': 0,
    'why=signature': 0,
    'why=too long': 0,
  });
  // Of four calls in two operations, only the first one was made, so three were refused.
  expect(text).toMatch(/^bankql_rate_limit_refusals_total 3$/m);
  const refused = Object.entries(counted(text, 'bankql_http_refusals_total')).filter(
    ([, count]) => count !== 0,
  );
  expect(refused).toEqual([['status=413', 1]]);
  expect(text).not.toContain('evil');
  expect(await bankql.stop()).toBe(0);
});
