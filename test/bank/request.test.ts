import fc from 'fast-check';
import { expect, test } from 'vitest';
import { idsIn, pathIds, pathOf, requestKey } from '../../src/bank/request.ts';
import { type Operation, ownName } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';

/** Ids that look like parts of paths, and whose encodings could be mistaken for each other. */
const id = fc.constantFrom(
  'a',
  'views',
  'other_accounts',
  'transaction',
  'customer',
  'messages',
  'é',
  'a b',
  '"',
);
const reads: readonly Operation[] = Object.values(operations).filter(({ kind }) => kind === 'read');

/** The ids of all paths. */
const names = reads.flatMap(({ path }) => idsIn(path, path).map(([name]) => ownName(name)));

const read = fc.record({
  operation: fc.constantFrom(...reads),
  ids: fc.record({
    ...Object.fromEntries(names.map((name) => [name, id])),
    scope: fc.constantFrom('views', 'permissions'),
  }),
  body: fc.record({ id }),
});
type Read = typeof read extends fc.Arbitrary<infer T> ? T : never;

const identityOf = ({ operation, ids, body }: Read) =>
  JSON.stringify([operation.id, pathIds(operation, ids), operation.body && body]);
const keyOf = ({ operation, ids, body }: Read) =>
  operation.body === null ? pathOf(operation, ids) : requestKey(pathOf(operation, ids), JSON.stringify(body));

test('two reads have the same key only if operation, ids and body are the same', () => {
  fc.assert(
    fc.property(read, read, (one, other) => {
      expect(keyOf(one) === keyOf(other)).toBe(identityOf(one) === identityOf(other));
    }),
    { seed: 20_261_120, numRuns: 5000 },
  );
});

test('a path contains its ids', () => {
  fc.assert(
    fc.property(read, ({ operation, ids }) => {
      const found = idsIn(operation.path, pathOf(operation, ids));
      expect(Object.fromEntries(found.map(([name, id]) => [ownName(name), id]))).toEqual(
        pathIds(operation, ids),
      );
    }),
    { seed: 20_261_120, numRuns: 500 },
  );
});
