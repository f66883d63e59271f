import { gzipSync } from 'node:zlib';
import { type JWK, SignJWT } from 'jose';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { requestSentNothing } from '../../../src/errors.ts';
import { createJwks, type JwksTimes } from '../../../src/http/auth/jwks.ts';
import { createTestBankql, type TestBankql } from '../../support/bankql.ts';
import { inTimeMs } from '../../support/in-time.ts';
import { claims, createKey, type Issuer, type IssuerKey, sign, startIssuer } from '../../support/issuer.ts';
import { type RecordingBank, startRecordingBank } from '../../support/recording-bank.ts';
import { postOf } from '../../support/requests.ts';

let old: IssuerKey;
let fresh: IssuerKey;
beforeAll(async () => {
  [old, fresh] = await Promise.all([createKey('ES256', 'old'), createKey('ES256', 'fresh')]);
});

let bank: RecordingBank;
let issuer: Issuer;
beforeEach(async () => {
  bank = (await startRecordingBank()).otherwise({ body: { branches: [] } });
  issuer = await startIssuer(old);
});
afterEach(async () => {
  await bank.close();
  await issuer[Symbol.asyncDispose]();
});

/** A clock that only the test advances. */
const clock = () => {
  let time = 0;
  const pass = (ms: number) => {
    time += ms;
  };
  return { now: () => time, pass };
};

const start = (keyTimes: Partial<JwksTimes> = {}, onTokenRefusal = (_why: string) => {}) =>
  createTestBankql({
    bankUrl: bank.url,
    onTokenRefusal,
    identity: { ...issuer.options, keyTimes: { timeoutMs: 60_000, ...keyTimes } },
  });

const ask = (to: TestBankql, token: string) =>
  to.fetch(
    new Request(
      'http://bankql.test/graphql',
      postOf({ query: '{ bank { branches { totalCount } } }' }, { Authorization: `Bearer ${token}` }),
    ),
  );
const statusOf = async (to: TestBankql, key: IssuerKey) => (await ask(to, await sign(key))).status;

describe('the rotation of keys', () => {
  test('a new key is used at once, and a removed key only as long as the key set is kept', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now, refreshMs: 300, maxAgeMs: 300 });
    expect(await statusOf(bankql, old)).toBe(200);
    pass(1);
    issuer.keys = [old.jwk, fresh.jwk];
    expect(await statusOf(bankql, fresh)).toBe(200);
    expect(issuer.asked()).toBe(2);
    issuer.keys = [fresh.jwk];
    pass(299);
    expect(await statusOf(bankql, old)).toBe(200);
    pass(1);
    expect(await statusOf(bankql, old)).toBe(401);
    expect(await statusOf(bankql, fresh)).toBe(200);
  });

  test('a token with a made-up key does not prevent the fetch of a new key', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now });
    expect(await statusOf(bankql, old)).toBe(200);
    pass(1);
    expect((await ask(bankql, await sign({ ...fresh, kid: 'made up' }))).status).toBe(401);
    pass(1);
    issuer.keys = [old.jwk, fresh.jwk];
    expect(await statusOf(bankql, fresh)).toBe(200);
  });

  test('unknown keys trigger few fetches; when none is left, an unknown key is 503, not 401', async () => {
    const { now, pass } = clock();
    const refusals: string[] = [];
    await using bankql = await start({ now, burst: 4, pauseMs: 6000 }, (why) => refusals.push(why));
    expect(await statusOf(bankql, old)).toBe(200);
    const stranger = async (index: number) => ask(bankql, await sign({ ...fresh, kid: `stranger ${index}` }));
    for (let index = 0; index < 3; index++) {
      pass(1);
      expect((await stranger(index)).status).toBe(401);
    }
    expect(issuer.asked()).toBe(4);
    pass(1);
    issuer.keys = [old.jwk, fresh.jwk];
    const waiting = await ask(bankql, await sign(fresh));
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([503, '6']);
    expect(await waiting.json()).toMatchObject({
      errors: [{ extensions: { code: 'OVERLOADED', retryAfter: 6 } }],
    });
    expect(await statusOf(bankql, old)).toBe(200);
    expect(issuer.asked()).toBe(4);
    // A made-up key must not raise the alert that keys cannot be fetched.
    expect(new Set(refusals)).toEqual(new Set(['key']));
    pass(5995);
    expect((await stranger(4)).status).toBe(503);
    pass(1);
    expect(await statusOf(bankql, fresh)).toBe(200);
    expect(issuer.asked()).toBe(5);
    expect(bank.calls).toHaveLength(3);
  });

  test('a system clock that is set back does not prevent the use of a new key', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { now, pass } = clock();
    const find = createJwks({ url: issuer.jwksUrl, proxyUrl: null, times: { now }, onFailure: () => {} });
    const key = (kid: string) => find({ alg: 'ES256', kid }, { payload: '', signature: '' });
    await expect(key('old')).resolves.toBeDefined();
    vi.setSystemTime(Date.now() - 3_600_000);
    pass(60_000);
    issuer.keys = [old.jwk, fresh.jwk];
    await expect(key('fresh')).resolves.toBeDefined();
  });

  test('tokens with unknown keys that come together trigger one fetch; one during a fetch triggers another', async () => {
    const { now, pass } = clock();
    const times = { now, timeoutMs: 60_000 };
    const onFailure = () => {};
    const keys = createJwks({ url: issuer.jwksUrl, proxyUrl: null, times, onFailure });
    const outcome = async (kid: string) => {
      try {
        await keys({ alg: 'ES256', kid }, { payload: '', signature: '' });
        return 'found';
      } catch (error) {
        return error instanceof Error ? error.name : error;
      }
    };
    expect(await outcome('old')).toBe('found');
    const answer: (() => void)[] = [];
    issuer.behave = (response) => {
      const body = JSON.stringify({ keys: issuer.keys });
      answer.push(() => response.end(body));
    };
    pass(1);
    const early = Array.from({ length: 20 }, (_, n) => outcome(`stranger ${n}`));
    await expect.poll(() => answer.length).toBe(1);
    pass(1);
    // The answer in progress does not contain this key, because it is older than the key.
    issuer.keys = [old.jwk, fresh.jwk];
    const late = outcome('fresh');
    answer[0]?.();
    expect(new Set(await Promise.all(early))).toEqual(new Set(['JWKSNoMatchingKey']));
    await expect.poll(() => answer.length).toBe(2);
    answer[1]?.();
    expect(await late).toBe('found');
    expect(issuer.asked()).toBe(3);
  });

  test('nobody waits while an old key set is fetched again, and a removed key ends with this fetch', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now });
    expect(await statusOf(bankql, old)).toBe(200);
    const answer: (() => void)[] = [];
    issuer.behave = (response) => void answer.push(() => response.end(JSON.stringify({ keys: [fresh.jwk] })));
    pass(9 * 60_000);
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, n) => sign(old, claims({ jti: `${n}` }))),
    );
    const askAll = async () =>
      new Set((await Promise.all(tokens.map((token) => ask(bankql, token)))).map(({ status }) => status));
    expect(await askAll()).toEqual(new Set([200]));
    await expect.poll(() => answer.length).toBe(1);
    answer[0]?.();
    // Some tokens are verified while the sets change. None of them may count as verified with the new set.
    while (!(await askAll()).has(401));
    expect(await askAll()).toEqual(new Set([401]));
    // The set is old, because there was no request for a while, so the first caller waits until it is fetched again.
    issuer.behave = null;
    issuer.keys = [old.jwk];
    pass(10 * 60_000);
    expect(await statusOf(bankql, fresh)).toBe(401);
  });

  test('tokens that an earlier key set verified are verified again with a new one', async () => {
    const { now, pass } = clock();
    const number = Promise.withResolvers<number | null>();
    const keys = createJwks({
      url: issuer.jwksUrl,
      proxyUrl: null,
      times: { now },
      onFailure: () => {},
      // The set has arrived but is not in use yet, so the next lookup still finds the revoked key.
      onSkipped: () => queueMicrotask(() => void find('old').then(() => number.resolve(current))),
    });
    let current: number | null = null;
    const find = async (kid: string) => {
      current = keys.current();
      await keys({ alg: 'ES256', kid }, { payload: '', signature: '' });
    };
    await find('old');
    pass(9 * 60_000);
    issuer.behave = (response) => void response.end(JSON.stringify({ keys: [null, fresh.jwk] }));
    await find('old');
    expect(await number.promise).toBe(1);
    await find('fresh');
    expect(keys.current()).toBe(2);
  });

  test('an expired token is 401 without a fetch, also if its key was removed', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now, burst: 1 });
    expect(await statusOf(bankql, old)).toBe(200);
    pass(1);
    const expired = await ask(bankql, await sign(fresh, claims({}, -100)));
    expect(expired.status).toBe(401);
    expect(expired.headers.get('www-authenticate')).toContain('expired');
    expect(await statusOf(bankql, fresh)).toBe(503);
    expect(issuer.asked()).toBe(1);
  });

  test('requests that come together at the start ask once', async () => {
    await using bankql = await start();
    const token = await sign(old);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(bankql, token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(issuer.asked()).toBe(1);
  });
});

describe('keys that cannot be fetched', () => {
  const huge = JSON.stringify({ keys: [{ kty: 'EC', x: 'x'.repeat(300_000) }] });

  test.each<[string, NonNullable<Issuer['behave']>]>([
    ['no answer', () => {}],
    ['a reset', (response) => response.destroy()],
    ['a status', (response) => response.writeHead(500).end('{"keys":[]}')],
    ['no JSON', (response) => response.end('<html>')],
    ['another shape', (response) => response.end('{"keys":{}}')],
    ['keys without a type', (response) => response.end('{"keys":[{"kid":"old"}]}')],
    ['a huge answer', (response) => response.end(huge)],
    [
      'a huge answer without a length',
      (response) => {
        response.write(huge);
        response.end();
      },
    ],
    [
      'a huge answer that is short as it is sent',
      (response) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(huge)),
    ],
    ['a body that never ends', (response) => void response.write('{"keys":[')],
    ['a redirect', (response) => response.writeHead(302, { Location: `${issuer.jwksUrl}?elsewhere` }).end()],
  ])(
    '%s: a token is 503 in time and nothing is sent, until the keys are available again',
    async (_what, behave) => {
      const { now, pass } = clock();
      const refusals: string[] = [];
      await using bankql = await start({ now, timeoutMs: 1_000 }, (why) => refusals.push(why));
      issuer.behave = behave;
      const token = await sign(old);
      const began = performance.now();
      const answer = await ask(bankql, token);
      expect(performance.now() - began).toBeLessThan(inTimeMs);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(refusals).toEqual(['no keys']);
      expect(await answer.json()).toEqual({
        errors: [
          {
            message: `bankql cannot verify tokens at the moment. ${requestSentNothing}`,
            extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 5 },
          },
        ],
      });
      expect(bank.calls).toEqual([]);
      expect(issuer.asked()).toBe(1);
      expect(bankql.log.filter((line) => line.includes('cannot be fetched'))).toHaveLength(1);
      expect(bankql.log.join('')).not.toContain(token.split('.')[2]);
      issuer.behave = null;
      pass(5000);
      expect(await statusOf(bankql, old)).toBe(200);
    },
  );

  test('are fetched again only after a pause, and nobody waits for the next attempt', async () => {
    await using bankql = await start({ pauseMs: 60_000, timeoutMs: 200 });
    issuer.behave = () => {};
    const token = await sign(old);
    expect((await ask(bankql, token)).status).toBe(503);
    const began = performance.now();
    for (let index = 0; index < 10; index++) expect((await ask(bankql, token)).status).toBe(503);
    expect(performance.now() - began).toBeLessThan(inTimeMs);
    expect(issuer.asked()).toBe(1);
  });

  test('are replaced by the earlier keys for a while; an unknown key is 503, not 401', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now, refreshMs: 0, maxAgeMs: 0, pauseMs: 0, graceMs: 600 });
    expect(await statusOf(bankql, old)).toBe(200);
    issuer.behave = (response) => response.destroy();
    pass(599);
    expect(await statusOf(bankql, old)).toBe(200);
    expect(await statusOf(bankql, fresh)).toBe(503);
    pass(1);
    expect(await statusOf(bankql, old)).toBe(503);
    issuer.behave = null;
    expect(await statusOf(bankql, old)).toBe(200);
  });

  test('do not make an expired token valid: it is 401', async () => {
    await using bankql = await start({ refreshMs: 0, maxAgeMs: 0, pauseMs: 0 });
    expect(await statusOf(bankql, old)).toBe(200);
    issuer.behave = (response) => response.destroy();
    expect((await ask(bankql, await sign(old, claims({}, -100)))).status).toBe(401);
  });
});

test('a key that is private, weak or for another use verifies nothing', async () => {
  const { jwk } = old;
  for (const keys of [
    [{ ...jwk, use: 'enc' }],
    [{ ...jwk, key_ops: ['sign'] }],
    [{ kty: 'oct', k: 'AAAA', kid: 'old', alg: 'ES256' }],
    [{ ...jwk, x: 'AAAA' }],
    [],
  ]) {
    issuer.keys = keys;
    await using bankql = await start();
    expect(await statusOf(bankql, old)).toBe(401);
  }
});

describe('a key set with unusable entries', () => {
  const answering = (text: string | Uint8Array) => (issuer.behave = (response) => void response.end(text));
  const skipLines = (bankql: TestBankql) => bankql.log.filter((line) => line.includes('are skipped'));
  const bad: readonly (readonly [string, (good: JWK) => unknown])[] = [
    ['null', () => null],
    ['a text', () => 'key'],
    ['a number', () => 7],
    ['a list', () => []],
    ['no type', ({ kty: _, ...rest }) => rest],
    ['a type that is no text', (good) => ({ ...good, kty: 5 })],
    ['a broken key of the same name', (good) => ({ ...good, x: 'AAAA' })],
    ['a key of the same name without its coordinates', ({ kid }) => ({ kty: 'EC', kid, crv: 'P-256' })],
    ['a broken key of another type and the same name', ({ kid }) => ({ kty: 'RSA', kid, e: 'AQAB' })],
  ];

  test.each(bad)('still verifies tokens of the other keys, and is logged once: %s', async (_what, make) => {
    const { now, pass } = clock();
    await using bankql = await start({ now, refreshMs: 10, maxAgeMs: 10 });
    const entry = make(old.jwk);
    for (const keys of [
      [entry, old.jwk, fresh.jwk],
      [old.jwk, entry, fresh.jwk],
    ]) {
      answering(JSON.stringify({ keys }));
      expect(await statusOf(bankql, old)).toBe(200);
      expect(await statusOf(bankql, fresh)).toBe(200);
      pass(10);
    }
    expect(skipLines(bankql)).toHaveLength(1);
    expect(skipLines(bankql)[0]).toContain('"entries":1');
    for (const part of [old.jwk.x, old.jwk.y, fresh.jwk.x])
      expect(bankql.log.join('')).not.toContain(part ?? 'no key');
  });

  test('is not used if it has no usable key: the earlier set stays in use', async () => {
    const { now, pass } = clock();
    await using bankql = await start({ now, refreshMs: 10, maxAgeMs: 10, pauseMs: 0 });
    answering(JSON.stringify({ keys: [null, {}] }));
    expect(await statusOf(bankql, old)).toBe(503);
    issuer.behave = null;
    expect(await statusOf(bankql, old)).toBe(200);
    answering(JSON.stringify({ keys: [null, {}] }));
    pass(10);
    expect(await statusOf(bankql, old)).toBe(200);
  });
});

describe('a token without a key id', () => {
  const unnamed = (key: IssuerKey) =>
    new SignJWT(claims()).setProtectedHeader({ alg: key.alg }).sign(key.privateKey);
  const statusOfUnnamed = async (to: TestBankql, key: IssuerKey) =>
    (await ask(to, await unnamed(key))).status;
  const unnamedJwk = ({ jwk: { kid: _, ...rest } }: IssuerKey): JWK => rest;

  test('is verified by the only key of its algorithm', async () => {
    const rsa = await createKey('RS256', 'rsa');
    issuer.keys = [rsa.jwk, old.jwk, { ...fresh.jwk, use: 'enc' }];
    await using bankql = await start();
    expect(await statusOfUnnamed(bankql, old)).toBe(200);
  });

  test('is verified by the key that fits its signature, if one does', async () => {
    const stranger = await createKey('ES256', 'stranger');
    issuer.keys = [{ ...old.jwk, x: 'AAAA', kid: 'broken' }, old.jwk, fresh.jwk];
    await using bankql = await start();
    expect(await statusOfUnnamed(bankql, old)).toBe(200);
    expect(await statusOfUnnamed(bankql, fresh)).toBe(200);
    expect(await statusOfUnnamed(bankql, stranger)).toBe(401);
    expect(issuer.asked()).toBe(1);
    expect(bank.calls).toHaveLength(2);
  });

  test('has its claims checked only if a key fits', async () => {
    issuer.keys = [fresh.jwk, old.jwk];
    await using bankql = await start();
    const sign = (key: IssuerKey) =>
      new SignJWT(claims({ aud: 'another' })).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey);
    const told = async (key: IssuerKey) =>
      (await ask(bankql, await sign(key))).headers.get('www-authenticate');
    expect(await told(old)).toContain('its claim aud');
    expect(await told(await createKey('ES256', 'stranger'))).not.toContain('aud');
  });

  test('is verified by keys without an id, too; a token with a key id is not', async () => {
    issuer.keys = [unnamedJwk(old), unnamedJwk(fresh)];
    await using bankql = await start();
    expect(await statusOfUnnamed(bankql, fresh)).toBe(200);
    expect(await statusOf(bankql, fresh)).toBe(401);
  });

  test('costs no more than eight signatures', async () => {
    const others = await Promise.all(Array.from({ length: 8 }, (_, n) => createKey('ES256', `${n}`)));
    issuer.keys = [...others.slice(0, 7).map(({ jwk }) => jwk), old.jwk, fresh.jwk];
    await using bankql = await start();
    expect(await statusOfUnnamed(bankql, old)).toBe(200);
    expect(await statusOfUnnamed(bankql, fresh)).toBe(401);
  });
});
