import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openKey, sealKey } from '../../src/payments/record.ts';

const holder = { caller: ['provider', 'caller'], subscriptionKey: 'subscription' } as const;

test('a sealed key is opened by its holder, and holds nothing of it in the clear', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ -~]{1,255}$/), fc.stringMatching(/^[0-9a-f]{64}$/), (key, id) => {
      const sealed = sealKey(holder, id, key);
      expect(openKey(holder, id, sealed)).toBe(key);
      if (key.length > 3) expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain(key);
    }),
  );
});

test.each([
  ['another caller', { ...holder, caller: ['provider', 'other'] as const }, 'id'],
  ['another provider', { ...holder, caller: ['providerc', 'aller'] as const }, 'id'],
  ['another subscription key', { ...holder, subscriptionKey: 'other' }, 'id'],
  ['another record', holder, 'other'],
])('%s opens nothing', (_, other, id) => {
  expect(openKey(other, id, sealKey(holder, 'id', 'key'))).toBeNull();
});

test.each([
  '',
  'AAAA',
  'not base64',
  sealKey(holder, 'id', 'key').replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
])('what is damaged (%j) opens nothing, and nothing fails', (sealed) => {
  expect(openKey(holder, 'id', sealed)).toBeNull();
});
