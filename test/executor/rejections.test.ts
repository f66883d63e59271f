import { setImmediate as nextTurn } from 'node:timers/promises';
import { buildSchema, getOperationAST, getVariableValues, parse } from 'graphql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prepareOperation } from '../../src/executor/compile.ts';

const schema = buildSchema('type Query { grid: [[Int!]!]! other: Int! }');

/** Rejected in a later turn of the event loop. */
const rejected = async () => {
  await nextTurn();
  throw new Error('later');
};
const inTurn = async (make: () => unknown) => {
  await nextTurn();
  return make();
};

const unhandled: unknown[] = [];
let others: NodeJS.UnhandledRejectionListener[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => {
  others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
  for (const other of others) process.on('unhandledRejection', other);
  unhandled.length = 0;
});

test.each<[string, () => unknown]>([
  ['beside an entry that is wrong', () => ['wrong', [rejected()]]],
  ['in a list that comes later', () => ['wrong', inTurn(() => [rejected(), rejected()])]],
  [
    'in a list of a list that comes later',
    () => ['wrong', inTurn(() => [inTurn(() => [inTurn(() => [rejected()])])])],
  ],
  ['in a set', () => new Set(['wrong', inTurn(() => new Set([rejected()]))])],
  ['of several entries', () => [[rejected()], [rejected()], rejected()]],
])('a promise that nobody waits for any more leaves no unhandled rejection: %s', async (_what, grid) => {
  const document = parse('{ grid other }');
  const operation = getOperationAST(document) ?? expect.unreachable();
  const { variableValues } = getVariableValues(schema, [], {});
  const query = schema.getQueryType()?.getFields() ?? {};
  if (query.grid) query.grid.resolve = grid;
  if (query.other) query.other.resolve = rejected;
  const prepared = prepareOperation({ schema, document, operation });
  const { data, errors } = await prepared.execute({}, variableValues ?? expect.unreachable());
  expect([data, errors?.length]).toEqual([null, 1]);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(unhandled).toEqual([]);
});
