import { describe, expect, test } from 'vitest';
import { validateResponse } from '../../src/bank/response.ts';
import type { Branch } from '../../src/contract/branch.ts';
import { operations } from '../../src/contract/operations.ts';
import { findById } from '../../src/loaders/loaders.ts';

const branch = (id: string | null | undefined, name: string): Branch => ({ acceptsDeposits: true, id, name });

describe('findById', () => {
  const list = [
    branch('one', 'first'),
    branch(null, 'null'),
    branch('one', 'second'),
    branch('two', 'third'),
  ];

  test.each([
    ['one', 'first'],
    ['two', 'third'],
  ])('gives the entry with the id %s, the first where several have it', (id, name) => {
    expect(findById(list, id)?.name).toBe(name);
    expect(findById(list, id)).toBe(list.find((entry) => entry.id === id));
  });

  test.each(['three', 'ONE', ' one', '', 'null', 'undefined', '__proto__', 'constructor', '0'])(
    'gives null where no entry has the id %j',
    (id) => {
      expect(findById([...list, { acceptsDeposits: true }], id)).toBeNull();
      expect(findById([], id)).toBeNull();
    },
  );

  test('passes over entries without an id, and finds those that follow', () => {
    const entries = [{ acceptsDeposits: false }, branch(undefined, 'a'), branch(null, 'b'), branch('x', 'c')];
    expect(findById(entries, 'x')?.name).toBe('c');
  });

  test('passes over entries and ids that the bank broke, and finds those that follow', () => {
    const text =
      '{"branches":[null,"x",{"acceptsDeposits":true,"id":true},{"acceptsDeposits":true,"id":"7","name":"n"}]}';
    const { answer } = validateResponse(operations.getBranches, JSON.parse(text), {});
    expect(answer[0]).toBeInstanceOf(Error);
    expect(answer[2]?.id).toBeInstanceOf(Error);
    expect(findById(answer, '7')?.name).toBe('n');
    expect(findById(answer, 'x')).toBeNull();
  });

  test('keeps the indexes of two lists apart', () => {
    const other = [branch('one', 'of another bank')];
    expect(findById(list, 'one')?.name).toBe('first');
    expect(findById(other, 'one')?.name).toBe('of another bank');
    expect(findById(other, 'two')).toBeNull();
  });
});
