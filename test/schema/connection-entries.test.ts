import { expect, test } from 'vitest';
import { Connection } from '../../src/schema/relay-connection.ts';

test('the entries of a page are made one by one, when they are asked for', () => {
  const made: number[] = [];
  const whole = { first: null, after: null, last: null, before: null };
  const { nodes, edges } = new Connection(
    ['a', 'b', 'c'],
    whole,
    (record, index) => {
      made.push(index);
      return record;
    },
    { lists: { charge() {} } },
  );
  expect([nodes.length, edges.length]).toEqual([3, 3]);
  expect(made).toEqual([]);
  const [first] = nodes;
  expect([first, made]).toEqual(['a', [0]]);
  expect([...edges].map(({ node }) => node)).toEqual(['a', 'b', 'c']);
});
