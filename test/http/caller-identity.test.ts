import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { bearerToken } from '../../src/http/auth/jwt.ts';

/** However a caller writes its credentials, it counts as the same caller, and never as another one. */

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
  'two requests from one address belong to one caller exactly if their credentials are equal; key %s, proven %s',
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
        // With the operator's key, the bank distinguishes callers only by the other two credentials. A caller without those
        // must send a key.
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

  test('a name that a proxy has verified is one caller at every address', () => {
    const [one, other] = ['peer 1', 'peer 2'].map((peer) => identityOf(complete, peer, true));
    expect(one).toEqual(other);
    expect(one?.group).toBe(one?.name);
  });

  test('an unverified name counts for its network address, not for the owner of the name', () => {
    const [one, other] = ['peer 1', 'peer 2'].map((peer) => identityOf(complete, peer, false));
    expect(one?.name).not.toBe(other?.name);
    expect([one?.group, other?.group]).toEqual(['peer 1', 'peer 2']);
    const invented = identityOf([...complete.slice(0, 5), 'invented'], 'peer 1', false);
    expect(invented?.name).not.toBe(one?.name);
    expect(invented?.group).toBe(one?.group);
  });

  test('an unverified name never equals a verified one', () => {
    const proven = identityOf(complete, 'peer 1', true)?.name ?? '';
    const spelled = identityOf(['Auth-ID', proven.replaceAll('\n', ' ')], 'peer 1', false);
    expect(spelled?.name.startsWith('claim ')).toBe(true);
    expect(proven.startsWith('header ')).toBe(true);
  });
});

test('all spellings of the header of a token identify the same caller', () => {
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
])('an Authorization header with %s is an invalid token', (_what, values) => {
  expect(bearerToken({ rawHeaders: values.flatMap((value) => ['Authorization', value]) })).toBe('');
});

test('another spelling of the signature of a token is refused', () => {
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
