import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { bearerToken } from '../../src/http/auth/jwt.ts';

/** A caller counts as one caller, however it writes its credentials, and never as another caller. */

const value = fc.constantFrom('a', 'b', 'a b', 'A', '%61', 'a\n', '', 'x'.repeat(256), 'ö');
const named = (name: string) =>
  fc
    .tuple(fc.constantFrom(name, name.toLowerCase(), name.toUpperCase()), value)
    .map(([written, text]) => [written, text]);
const header = fc.oneof(
  named('Ocp-Apim-Subscription-Key'),
  named('Auth-Provider-Name'),
  named('Auth-ID'),
  named('Authorization'),
);
const parameter = fc
  .tuple(
    fc.constantFrom(
      'subscription-key',
      'subscription%2Dkey',
      '%73ubscription-key',
      'subscription%2dk%65y',
      'Subscription-Key',
      'other',
    ),
    fc.constantFrom('a', '%61', 'b', 'a%20b', 'a+b', '', '%', 'a%0A'),
  )
  .map(([name, text]) => `${name}=${text}`);
const request = fc
  .record({
    path: fc.constantFrom('/graphql', '//:', '/graphql/', 'http://['),
    headers: fc.array(header, { maxLength: 4 }),
    parameters: fc.array(parameter, { maxLength: 2 }),
    fragment: fc.constantFrom('', '#a', '#?subscription-key=a'),
  })
  .map(({ path, headers, parameters, fragment }) => ({
    url: `${path}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}${fragment}`,
    rawHeaders: headers.flat(),
  }));

test.each([
  [null, false],
  ['the operator’s', false],
  ['the operator’s', true],
])(
  'two requests of a peer are one caller’s exactly if their credentials are; key %s, proven %s',
  (key, areProven) => {
    const identify = authenticateByHeaders(key, areProven);
    /** The identity that is counted, and the credentials that the bank receives; null if the request is refused. */
    const callerOf = (incoming: Parameters<typeof identify>[0]) => {
      try {
        const { identity, ...shown } = identify(incoming, '') as Credentials;
        return { identity, shown };
      } catch {
        return null;
      }
    };
    let same = 0;
    fc.assert(
      fc.property(request, request, (one, other) => {
        const [a, b] = [callerOf(one), callerOf(other)];
        if (a === null || b === null) return;
        const isSame = isDeepStrictEqual(a.shown, b.shown);
        if (isSame) same++;
        // With the operator's key, the bank distinguishes callers by the two other credentials. A caller without them must bring
        // a key.
        if (key === null) expect(isDeepStrictEqual(a.identity, b.identity)).toBe(isSame);
        else if (!isSame) expect(isDeepStrictEqual(a.identity, b.identity)).toBe(false);
      }),
      { numRuns: 6000 },
    );
    expect(same).toBeGreaterThan(100);
  },
);

describe('who is counted as one caller', () => {
  const complete = ['Ocp-Apim-Subscription-Key', 'k', 'Auth-Provider-Name', 'p', 'Auth-ID', 'a'];
  const identityOf = (rawHeaders: string[], peer: string, areProven: boolean) =>
    (authenticateByHeaders(null, areProven)({ url: '/', rawHeaders }, peer) as Credentials).identity;

  test('a name that a proxy vouches for is one caller, wherever it comes from', () => {
    const [one, other] = ['peer 1', 'peer 2'].map((peer) => identityOf(complete, peer, true));
    expect(one).toEqual(other);
    expect(one?.group).toBe(one?.name);
  });

  test('an unverified name counts for its network address, and uses up nothing of its owner’s', () => {
    const [one, other] = ['peer 1', 'peer 2'].map((peer) => identityOf(complete, peer, false));
    expect(one?.name).not.toBe(other?.name);
    expect([one?.group, other?.group]).toEqual(['peer 1', 'peer 2']);
    const invented = identityOf([...complete.slice(0, 5), 'invented'], 'peer 1', false);
    expect(invented?.name).not.toBe(one?.name);
    expect(invented?.group).toBe(one?.group);
  });

  test('no unverified name can be spelled like a verified one', () => {
    const proven = identityOf(complete, 'peer 1', true)?.name ?? '';
    const spelled = identityOf(['Auth-ID', proven.replaceAll('\n', ' ')], 'peer 1', false);
    expect(spelled?.name.startsWith('claim ')).toBe(true);
    expect(proven.startsWith('header ')).toBe(true);
  });
});

test('every spelling of a token is the same caller’s', () => {
  const token = 'e30.YQ.AQ';
  const written = [
    ['Authorization', `Bearer ${token}`],
    ['authorization', `bearer     ${token}`],
    ['AUTHORIZATION', `BEARER  ${token}`],
  ];
  const requests = written.map((rawHeaders, index) => ({ url: `/graphql?${index}`, rawHeaders }));
  expect(new Set(requests.map(bearerToken))).toEqual(new Set([token]));
  expect(bearerToken({ rawHeaders: [] })).toBeNull();
});

test.each([
  ['another scheme', ['Basic e30.YQ.AQ']],
  ['two headers', ['Bearer e30.YQ.AQ', 'Bearer e30.YQ.AQ']],
  ['8,193 characters', [`Bearer ${'a'.repeat(8193)}`]],
])('a token with %s is one that no key fits', (_what, values) => {
  expect(bearerToken({ rawHeaders: values.flatMap((value) => ['Authorization', value]) })).toBe('');
});

test('a token is what it signs: no other spelling of its signature is another caller, nor a token', () => {
  const [signed, signature] = ['e30.YQ', `${'A'.repeat(83)}-_g`];
  const of = (token: string) => ({ url: '/graphql', rawHeaders: ['Authorization', `Bearer ${token}`] });
  expect(bearerToken(of(`${signed}.${signature}`))).toBe(`${signed}.${signature}`);
  // An unsigned token is still a token: the verifier names its algorithm in the refusal.
  expect(bearerToken(of(`${signed}.`))).toBe(`${signed}.`);
  const spellings = [
    `${signed}.${signature.replace('-', '+')}`,
    `${signed}.${signature.replace('_', '/')}`,
    `${signed}.${signature}==`,
    `${signed}.${signature.slice(0, -1)}h`,
    `${signed}.${signature}.`,
    `${signed}.${signature}\t`,
    signed,
    `${signed}`.replace('.', '..'),
    '..',
    `.YQ.${signature}`,
    `e30..${signature}`,
    `e31.YQ.${signature}`,
    `e30.YR.${signature}`,
  ];
  for (const spelling of spellings) {
    expect([spelling, bearerToken(of(spelling))]).toEqual([spelling, '']);
  }
});
