import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { bearerToken, callerKeyByToken } from '../../src/server/auth/bearer-token.ts';
import { authenticateByHeaders, callerKeyByHeaders } from '../../src/server/auth/header-credentials.ts';
import { fromNodeRequest } from '../../src/server/auth/incoming-request.ts';

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
  const written = [
    ['Authorization', 'Bearer t'],
    ['authorization', 'bearer     t'],
    ['AUTHORIZATION', 'BEARER  t'],
  ];
  const requests = written.map((rawHeaders, index) =>
    fromNodeRequest({ url: `/graphql?${index}`, rawHeaders }),
  );
  expect(new Set(requests.map(bearerToken))).toEqual(new Set(['t']));
  expect(new Set(requests.map(callerKeyByToken)).size).toBe(1);
  const other = fromNodeRequest({ url: '/graphql', rawHeaders: ['Authorization', 'Bearer T'] });
  expect(callerKeyByToken(other)).not.toBe(
    callerKeyByToken(fromNodeRequest({ url: '', rawHeaders: written[0] ?? [] })),
  );
});
