import { describe, expect, test } from 'vitest';
import { bearerToken } from '../../../src/server/auth/jwt.ts';

const requestWith = (...values: string[]) => ({
  rawHeaders: values.flatMap((value) => ['Authorization', value]),
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
