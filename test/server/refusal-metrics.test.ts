import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RequestError } from '../../src/engine/errors.ts';
import { authenticateByToken } from '../../src/server/auth/jwt.ts';
import type { JwtOptions } from '../../src/server/auth/jwt-options.ts';
import {
  BoundedCounters,
  createRateLimiter,
  type RateRefusal,
} from '../../src/server/rate-limit/rate-limiter.ts';
import { createTelemetry } from '../../src/telemetry/metrics.ts';
import {
  audience,
  claims,
  createKey,
  encoded,
  type Issuer,
  type IssuerKey,
  issuerName,
  sign,
  startIssuer,
} from '../support/issuer.ts';
import { post, startProcess } from '../support/process.ts';
import { answerTo } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';

/** What is refused is counted, by words of ours alone. */

let key: IssuerKey;
let other: IssuerKey;
let notAllowed: IssuerKey;
let issuer: Issuer;
beforeAll(async () => {
  [key, other, notAllowed] = await Promise.all([
    createKey('ES256', 'k'),
    createKey('ES256', 'other'),
    createKey('ES384', 'k'),
  ]);
  issuer = await startIssuer(key);
});
afterAll(() => issuer[Symbol.asyncDispose]());

/** The values of the metrics that begin so, by their labels. */
const counted = (text: string, name: string) =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))].map(([, labels = '', value]) => [
      labels.replaceAll('"', ''),
      Number(value),
    ]),
  );

describe('a token that is not accepted is counted by why', () => {
  const options = (): JwtOptions => ({
    subscriptionKey: 'operator-key',
    jwksUrl: issuer.jwksUrl,
    issuer: issuerName,
    audience,
    algorithms: ['ES256'],
    providerClaim: 'iss',
    authIdClaim: 'sub',
  });
  const refusals = async (token: string | null, more: Partial<JwtOptions> = {}) => {
    const told: string[] = [];
    const identify = authenticateByToken({ ...options(), ...more }, pino({ level: 'silent' }), (why) =>
      told.push(why),
    );
    const rawHeaders = token === null ? [] : ['Authorization', `Bearer ${token}`];
    await expect(Promise.resolve(identify({ url: '/graphql', rawHeaders }, ''))).rejects.toThrow(
      RequestError,
    );
    return told;
  };
  const signed = (payload: object) => sign(key, claims({ ...payload }));
  const forged = async () => {
    const [head, , signature] = (await signed({})).split('.');
    return [head, encoded(claims({ sub: 'somebody else' })), signature].join('.');
  };

  test.each<[string, () => Promise<string | null>, string]>([
    ['none', async () => null, 'no token'],
    ['no token at all', async () => 'x', 'malformed'],
    ['three parts of nothing', async () => 'a.b.c', 'malformed'],
    ['one that is over', () => sign(key, claims({}, -3600)), 'expired'],
    ['another issuer’s', () => signed({ iss: 'https://evil.example/' }), 'claims'],
    ['one for somebody else', () => signed({ aud: 'another' }), 'claims'],
    ['one without an end', () => signed({ exp: undefined }), 'claims'],
    ['one whose claim is no text', () => signed({ sub: 7 }), 'claims'],
    ['one whose claim can be no credential', () => signed({ sub: 'α' }), 'claims'],
    ['one that was changed', forged, 'signature'],
    ['one of a key that is not in the set', () => sign(other), 'key'],
    ['one of an algorithm that is not allowed', () => sign(notAllowed), 'algorithm'],
    ['one that nobody signed', async () => `${encoded({ alg: 'none' })}.${encoded(claims())}.`, 'algorithm'],
  ])('%s', async (_what, make, why) => {
    expect(await refusals(await make())).toEqual([why]);
  });

  test('one that cannot be verified', async () => {
    expect(await refusals(await sign(key), { jwksUrl: 'http://127.0.0.1:1/keys' })).toEqual(['no keys']);
  });
});

test('what is over a budget is counted by whose budget it was', async () => {
  const told: RateRefusal[] = [];
  const limiter = createRateLimiter(
    { perCaller: { calls: 1, seconds: 60 }, perKey: { calls: 2, seconds: 60 } },
    (_name, limit) => new BoundedCounters(limit).count,
    (refusal) => told.push(refusal),
  );
  const who = (authId: string) => ({ subscriptionKey: 'k', authProviderName: 'p', authId });
  const take = (authId: string) => limiter?.take(who(authId), 'getBranches').catch(() => {});
  await take('a');
  await take('b');
  expect(told).toEqual([]);
  await take('a');
  await take('c');
  await limiter?.secondsUntilNext(who('c'));
  expect(told).toEqual([
    { refused: 'call', budget: 'caller' },
    { refused: 'call', budget: 'key' },
    { refused: 'request', budget: 'key' },
  ]);
});

const head = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const chunks = `${head}Transfer-Encoding: chunked\r\n\r\n${`2710\r\n${'x'.repeat(10_000)}\r\n`.repeat(11)}`;

test('what HTTP alone is enough to refuse is counted by status, once each', async () => {
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
    [421, 'GET /graphql HTTP/1.1\r\nHost: evil.example\r\n\r\n'],
    [400, 'GET /graphql HTTP/1.1\r\nHost: a b\r\n\r\n'],
    [404, 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'],
  ] as const)
    expect(await answerTo(fixture.url, text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(counted(await telemetry.registry.metrics(), 'bankql_http_refusals_total')).toEqual({
    'status=400': 1,
    'status=413': 2,
    'status=415': 1,
    'status=421': 1,
  });
  telemetry.registry.clear();
});

test('a process shows all of it in its metrics, and nothing that callers wrote', async () => {
  await using bankql = await startProcess({
    BANK_SUBSCRIPTION_KEY: 'sandbox-key',
    METRICS_PORT: '0',
    IDENTITY: 'jwt',
    IDENTITY_JWKS_URL: issuer.jwksUrl,
    IDENTITY_ISSUER: issuerName,
    IDENTITY_AUDIENCE: 'bankql',
    IDENTITY_PROVIDER_CLAIM: 'provider',
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
    'why=expired': 0,
    'why=key': 0,
    'why=no keys': 0,
    'why=signature': 0,
  });
  expect(counted(text, 'bankql_rate_limit_refusals_total')).toEqual({
    'refused=call,budget=caller': 1,
    'refused=call,budget=key': 0,
    'refused=request,budget=caller': 1,
    'refused=request,budget=key': 0,
  });
  const refused = Object.entries(counted(text, 'bankql_http_refusals_total')).filter(
    ([, count]) => count !== 0,
  );
  expect(refused).toEqual([['status=413', 1]]);
  expect(text).not.toContain('evil');
  expect(await bankql.stop()).toBe(0);
});
