import { expect, test } from 'vitest';
import { uuidOf } from '../../src/sandbox/uuid.ts';

test('a name has one UUID, of version 8, and another name another one', () => {
  const uuid = uuidOf('alice');
  expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
  expect(uuidOf('alice')).toBe(uuid);
  expect(uuidOf('bob')).not.toBe(uuid);
});
