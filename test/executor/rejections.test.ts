import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  buildSchema,
  GraphQLSchema,
  GraphQLStreamDirective,
  getOperationAST,
  getVariableValues,
  parse,
  specifiedDirectives,
} from 'graphql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AnswerBudget, unlimited } from '../../src/executor/answer-budget.ts';
import { prepareOperation } from '../../src/executor/compile.ts';
import { executeIncrementally } from '../../src/options/defer/incremental-execution.ts';

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

test.each([true, false])('nor does one in a stream, whose turn comes later; taken: %s', async (isTaken) => {
  const built = buildSchema('type Query { no: Int } type Mutation { list: [Int] next: Int }');
  const streaming = new GraphQLSchema({
    ...built.toConfig(),
    directives: [...specifiedDirectives, GraphQLStreamDirective],
  });
  const { list, next } = streaming.getMutationType()?.getFields() ?? {};
  if (list) list.resolve = () => [rejected(), rejected()];
  // The stream waits for all fields of the mutation.
  if (next) next.resolve = () => inTurn(() => inTurn(() => inTurn(() => 1)));
  const document = parse('mutation { list @stream next }');
  const result = await executeIncrementally(
    { schema: streaming, document },
    { budget: new AnswerBudget(unlimited) },
  );
  if (!('subsequentResults' in result)) return expect.unreachable();
  expect(result.initialResult.data).toEqual({ list: [], next: 1 });
  if (isTaken) {
    let failed = 0;
    for await (const { incremental = [] } of result.subsequentResults)
      for (const { errors = [] } of incremental) failed += errors.length;
    expect(failed).toBe(2);
  } else {
    await result.subsequentResults.return();
  }
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(unhandled).toEqual([]);
});
