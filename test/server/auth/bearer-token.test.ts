import { describe, expect, test } from 'vitest';
import { bearerToken, callerKeyByToken } from '../../../src/server/auth/bearer-token.ts';

const requestWith = (...values: string[]) => ({
  target: '/graphql',
  header: (name: string) => (name === 'authorization' ? values : []),
});
const token = 'aGVhZGVy.Y2xhaW1z.c2lnbmF0dXJl';

describe('the token', () => {
  test('of a request that has one', () => {
    expect(bearerToken(requestWith(`Bearer ${token}`))).toBe(token);
    expect(bearerToken(requestWith(`bearer   ${token}`))).toBe(token);
    expect(bearerToken(requestWith('Bearer aGVhZGVy.Y2xhaW1z.'))).toBe('aGVhZGVy.Y2xhaW1z.');
    expect(bearerToken(requestWith())).toBeNull();
  });

  test.each([
    ['another scheme', [`Basic ${token}`]],
    ['two headers', [`Bearer ${token}`, `Bearer ${token}`]],
    ['two parts', ['Bearer aGVhZGVy.Y2xhaW1z']],
    ['four parts', [`Bearer ${token}.c2lnbmF0dXJl`]],
    ['an empty part', ['Bearer .Y2xhaW1z.c2lnbmF0dXJl']],
    ['padding', ['Bearer aGVhZGVy.YQ==.c2lnbmF0dXJl']],
    ['stray bits', ['Bearer aGVhZGVy.YR.c2lnbmF0dXJl']],
    ['another alphabet', ['Bearer aGVhZGVy.+/+/.c2lnbmF0dXJl']],
    ['8,193 characters', [`Bearer ${'a'.repeat(8193)}`]],
  ])('is one that no key fits with %s', (_what, values) => {
    expect(bearerToken(requestWith(...values))).toBe('');
  });
});

test('a caller has one key, whatever the signature; those without a token share one', () => {
  const keys = [token, 'aGVhZGVy.Y2xhaW1z.b3RoZXI', 'aGVhZGVy.b3RoZXI.c2lnbmF0dXJl'].map((each) =>
    callerKeyByToken(requestWith(`Bearer ${each}`)),
  );
  expect(keys).toEqual(['aGVhZGVy.Y2xhaW1z', 'aGVhZGVy.Y2xhaW1z', 'aGVhZGVy.b3RoZXI']);
  expect(callerKeyByToken(requestWith())).toBe(callerKeyByToken(requestWith('Bearer none')));
});
