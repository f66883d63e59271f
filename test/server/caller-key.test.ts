import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { bearerToken, callerKeyByToken } from '../../src/server/auth/bearer-token.ts';
import { authenticateByHeaders, callerKeyByHeaders } from '../../src/server/auth/header-credentials.ts';
import { fromNodeRequest } from '../../src/server/request.ts';

/** Whom the load guard counts is who is let in: however a caller writes his credentials down, it is one caller. */

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
  .map(({ path, headers, parameters, fragment }) =>
    fromNodeRequest({
      url: `${path}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}${fragment}`,
      rawHeaders: headers.flat(),
    }),
  );

test.each([null, 'the operator’s'])(
  'two requests have one key exactly where one caller sent both; the key is %s',
  (key) => {
    const identify = authenticateByHeaders(key);
    const callerKey = callerKeyByHeaders(key);
    /** Null where he is refused. */
    const callerOf = (incoming: Parameters<typeof identify>[0]) => {
      try {
        return JSON.stringify(identify(incoming) satisfies Credentials | Promise<Credentials>);
      } catch {
        return null;
      }
    };
    let same = 0;
    fc.assert(
      fc.property(request, request, (one, other) => {
        const isSame = callerOf(one) === callerOf(other);
        if (isSame) same++;
        expect(callerKey(one) === callerKey(other)).toBe(isSame);
      }),
      { numRuns: 3000 },
    );
    expect(same).toBeGreaterThan(100);
  },
);

test('a token is one caller’s however it is written down', () => {
  const token = 'e30.YQ.AQ';
  const written = [
    ['Authorization', `Bearer ${token}`],
    ['authorization', `bearer     ${token}`],
    ['AUTHORIZATION', `BEARER  ${token}`],
  ];
  const requests = written.map((rawHeaders, index) =>
    fromNodeRequest({ url: `/graphql?${index}`, rawHeaders }),
  );
  expect(new Set(requests.map(bearerToken))).toEqual(new Set([token]));
  expect(new Set(requests.map(callerKeyByToken)).size).toBe(1);
  const other = fromNodeRequest({ url: '/graphql', rawHeaders: ['Authorization', 'Bearer e30.e30.AQ'] });
  expect(callerKeyByToken(other)).not.toBe(
    callerKeyByToken(fromNodeRequest({ url: '', rawHeaders: written[0] ?? [] })),
  );
});

test('a token is what it signs: no other spelling of its signature is another caller, nor a token', () => {
  const [signed, signature] = ['e30.YQ', `${'A'.repeat(83)}-_g`];
  const of = (token: string) =>
    fromNodeRequest({ url: '/graphql', rawHeaders: ['Authorization', `Bearer ${token}`] });
  expect(bearerToken(of(`${signed}.${signature}`))).toBe(`${signed}.${signature}`);
  // Of ECDSA there are two signatures that fit, and of a wrong one any number.
  expect(callerKeyByToken(of(`${signed}.${signature}`))).toBe(signed);
  expect(callerKeyByToken(of(`${signed}.AQ`))).toBe(signed);
  // One that nobody signed is still a token: whoever verifies it names its algorithm in the refusal.
  expect(bearerToken(of(`${signed}.`))).toBe(`${signed}.`);
  expect(callerKeyByToken(of(`${signed}.`))).toBe(signed);
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
    expect(callerKeyByToken(of(spelling))).toBe('');
  }
});
