import { expect, test } from 'vitest';
import { bankId } from '../../src/sandbox/identity.ts';
import { matches } from '../../src/sandbox/list-query.ts';

const record = { id: 'b-1', name: 'Main Street' };

test.each([
  [{ id: 'b-1' }, true],
  [{ id: 'b-2' }, false],
  [{ id: bankId }, true],
  [{ id: bankId, name: 'street' }, true],
  [{ id: bankId, name: 'station' }, false],
  [{ id: 'b-1', name: 'MAIN' }, true],
  [{ id: 'b-2', name: 'main' }, false],
])('%j: %s', (query, expected) => {
  expect(matches(record, query)).toBe(expected);
});

test('a record without a name has none that a query could hold', () => {
  expect(matches({ id: 'b-1', name: null }, { id: 'b-1', name: '' })).toBe(false);
  expect(matches({ id: 'b-1' }, { id: 'b-1' })).toBe(true);
});
