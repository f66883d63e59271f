import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redact } from '../../src/bank/errors.ts';

test.each([
  ['before the cut', 'a secret here', 20, 'a [redacted] here'],
  ['up to the cut', 'a secret', 8, 'a [redacted]'],
  ['across the cut', 'a secret here', 5, 'a [redacted]'],
  ['at the last character before the cut', 'a secret', 3, 'a [redacted]'],
  ['behind the cut', 'a secret', 2, 'a '],
  ['that begins like a longer one', 'secret-2 secret', 99, '[redacted] [redacted]'],
  ['that means something in a pattern', 'a .* b+', 99, 'a [redacted] [redacted]'],
])('takes out a secret %s', (_, text, maxLength, clean) => {
  expect(redact(text, ['secret', 'secret-2', '.*', 'b+', ''], maxLength)).toBe(clean);
});

test('cuts a text where there are no secrets', () => {
  expect(redact('a secret', [], 4)).toBe('a se');
});

test('shows no two letters of a secret that stand together, wherever the cut is', () => {
  fc.assert(
    fc.property(fc.nat(40), fc.nat(40), fc.nat(90), (before, between, maxLength) => {
      const secret = 'ABCDEFGHIJKL';
      const text = `${'.'.repeat(before)}${secret}${'.'.repeat(between)}${secret}`;
      expect(redact(text, [secret], maxLength)).not.toMatch(/[A-L]/);
    }),
    { seed: 20_261_122, numRuns: 500 },
  );
});

test.each([
  ['is a known text', 'no alice here', ['alice'], 'no alice here'],
  ['is part of a known text', 'no alice-current, alice', ['alice-current'], 'no alice-current, [redacted]'],
  ['is repeated in a known text', 'alice-alice', ['alice-alice'], 'alice-alice'],
  ['ends a known text, and stands alone before it', 'alice x-alice', ['x-alice'], '[redacted] x-alice'],
  ['begins within a known text and goes on behind it', 'the key-4711', ['the key'], 'the [redacted]'],
])('a secret that %s', (_what, text, known, clean) => {
  expect(redact(text, ['alice', 'key-4711'], 99, known)).toBe(clean);
});
