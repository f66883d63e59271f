import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedList, type ListNode } from '../../src/server/linked-list.ts';

/** The values from the front, after the links from the back have been held against them. */
function valuesOf<T>({ first, last }: LinkedList<T>): T[] {
  const values: T[] = [];
  for (let node = first; node !== null; node = node.next) values.push(node.value);
  const reversed: T[] = [];
  for (let node = last; node !== null; node = node.previous) reversed.push(node.value);
  expect(reversed.toReversed()).toEqual(values);
  return values;
}

test('it is what an array would be, whoever comes and leaves', () => {
  const step = fc.record({ kind: fc.constantFrom('append', 'addAfter', 'remove'), at: fc.nat({ max: 20 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const list = new LinkedList<number>();
      const nodes: ListNode<number>[] = [];
      for (const [value, { kind, at }] of steps.entries()) {
        const place = nodes.length === 0 ? 0 : at % nodes.length;
        if (kind === 'append') nodes.push(list.append(value));
        else if (kind === 'addAfter' && nodes[place])
          nodes.splice(place + 1, 0, list.addAfter(nodes[place], value));
        else if (kind === 'addAfter') nodes.unshift(list.addAfter(null, value));
        else for (const node of nodes.splice(place, 1)) list.remove(node);
        const values = nodes.map((node) => node.value);
        expect(valuesOf(list)).toEqual(values);
        expect([...list]).toEqual(values);
        expect(list.size).toBe(values.length);
      }
    }),
    { numRuns: 50 },
  );
});

test('who has left already leaves nothing behind by leaving again', () => {
  const list = new LinkedList<string>();
  const [a, b] = [list.append('a'), list.append('b')];
  list.remove(a);
  list.remove(a);
  expect(valuesOf(list)).toEqual(['b']);
  expect(list.size).toBe(1);
  list.remove(b);
  expect([list.first, list.last]).toEqual([null, null]);
});

test('the member that is visited may leave', () => {
  const list = new LinkedList<string>();
  const nodes = ['a', 'b', 'c'].map((value) => list.append(value));
  const visited: string[] = [];
  for (const value of list) {
    visited.push(value);
    for (const node of nodes) if (node.value === value) list.remove(node);
  }
  expect(visited).toEqual(['a', 'b', 'c']);
  expect(list.size).toBe(0);
});
