import { describe, expect, test } from 'vitest';
import { validateCredential } from '../../src/bank/credentials.ts';

describe('a credential', () => {
  test.each([
    'x',
    'alice',
    'a b',
    '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
    'A'.repeat(255),
    'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl',
  ])('%j may leave as it is', (value) => {
    expect(validateCredential('Auth-ID', value)).toBe(value);
  });

  test.each([
    ['a line break', 'canary\r\nX-Evil: 1'],
    ['a line feed', 'canary\nX-Evil: 1'],
    ['a line feed at the end', 'canary\n'],
    ['a carriage return', 'canary\rx'],
    ['a NUL', 'canary\0x'],
    ['a DEL', 'canary\u007fx'],
    ['a tab', 'canary\tx'],
    ['an escape', 'canary\u001bx'],
    ['a C1 control', 'canary\u0085x'],
    ['a Latin-1 letter', 'canary-é'],
    ['a no-break space', 'canary\u00a0x'],
    ['a letter beyond Latin-1', 'canary-日'],
    ['a lone surrogate', 'canary-\ud800'],
    ['a leading space', ' canary'],
    ['a trailing space', 'canary '],
    ['256 characters', 'canary'.padEnd(256, 'x')],
    ['8 kB', 'canary'.padEnd(8192, 'x')],
    ['nothing', ''],
    ['a space', ' '],
  ])('with %s is refused by the header’s name, and its value is not repeated', (_, value) => {
    const check = () => validateCredential('Auth-Provider-Name', value);
    expect(check).toThrow(
      expect.objectContaining({
        code: 'BAD_USER_INPUT',
        message: expect.stringMatching(/^The header Auth-Provider-Name is [ -~]{1,150}$/),
        extensions: { code: 'BAD_USER_INPUT', retryable: false },
      }),
    );
    expect(check).not.toThrow(/canary/);
  });
});
