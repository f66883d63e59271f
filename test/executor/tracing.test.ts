import { channel } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { prepare, schemaOf, told } from '../support/both-executors.ts';

/** What tools that watch graphql are told: the same of either executor. */

const phases = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];
const names = ['execute', 'execute:variableCoercion', 'execute:rootSelectionSet', 'resolve'];
const channels = names.flatMap((name) =>
  phases.map((phase) => ({ name, phase, channel: channel(`tracing:graphql:${name}:${phase}`) })),
);

interface Event {
  readonly name: string;
  readonly phase: string;
  readonly context: object;
}
let events: Event[] = [];
const listeners = channels.map(({ name, phase, channel }) => {
  const listener = (context: unknown) => void events.push({ name, phase, context: Object(context) });
  return {
    subscribe: () => channel.subscribe(listener),
    unsubscribe: () => channel.unsubscribe(listener),
  };
});
beforeEach(() => {
  events = [];
  for (const { subscribe } of listeners) subscribe();
});
afterEach(() => {
  for (const { unsubscribe } of listeners) unsubscribe();
});

/** What the events say, the resolvers' by their fields: those come in another order where promises are waited for. */
function collected() {
  const all = events.splice(0).map(({ name, phase, context }) => {
    const { result, error, ...known } = { ...context } as { result?: unknown; error?: unknown };
    const isWhole = name !== 'resolve' && typeof result === 'object' && result !== null;
    return {
      key: `${name} ${phase} ${Reflect.get(known, 'fieldPath') ?? ''}`,
      known,
      error,
      result: isWhole ? told(result) : result,
    };
  });
  return {
    order: all.filter(({ key }) => !key.startsWith('resolve')).map(({ key }) => key),
    events: all.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  };
}

const schema = schemaOf(
  `type Query { now(n: Int = 1): Int late: Item fails: Int failsLate: Int must: Int! }
   type Mutation { now: Int late: Item }
   type Item { name: String plain: String }`,
  {
    'Query.now': (_source, { n }) => n,
    'Query.late': async () => ({ name: 'name', plain: 'plain' }),
    'Query.fails': () => {
      throw new Error('fails');
    },
    'Query.failsLate': async () => {
      await turn();
      throw new Error('late');
    },
    'Query.must': () => null,
    'Mutation.now': () => 1,
    'Mutation.late': async () => ({ name: 'name' }),
    'Item.name': (source) => Reflect.get(Object(source), 'name'),
  },
);

test.each([
  ['values that are there', '{ now two: now(n: 2) __typename }'],
  ['promises', 'query Named($n: Int = 3) { late { name plain again: plain } now(n: $n) }'],
  ['errors', '{ fails failsLate late { plain } }'],
  ['an answer without data', '{ now must }'],
  ['a mutation', 'mutation { now late { name __typename } }'],
])('the events of %s are those of graphql’s own executor', async (_what, text) => {
  const { run, reference } = prepare(schema, text);
  await reference();
  const expected = collected();
  expect(expected.events.length).toBeGreaterThan(8);
  const answer = await run();
  const own = collected();
  const withoutCoercion = (key: string) => !key.startsWith('execute:variableCoercion');
  // Variables are coerced before the operation is executed, by who calls the executor.
  expect(own.order).toEqual(expected.order.filter(withoutCoercion));
  expect(own.events).toEqual(expected.events.filter(({ key }) => withoutCoercion(key)));
  // Nothing else changes by being watched.
  for (const { unsubscribe } of listeners) unsubscribe();
  expect(told(await run())).toEqual(told(answer));
  expect(events).toEqual([]);
});

test('a request is told with its variables', async () => {
  await using fixture = await startBankqlFixture();
  await fixture.ask('query ($no: Boolean!) { __typename @skip(if: $no) }', { no: false });
  const coercion = events.filter(({ name }) => name === 'execute:variableCoercion');
  expect(coercion.map(({ phase }) => phase)).toEqual(['start', 'end']);
  expect(coercion[0]?.context).toMatchObject({
    operationType: 'query',
    rawVariableValues: { no: false },
    result: { variableValues: { coerced: { no: false } } },
  });
  expect(events.map(({ name, phase }) => `${name} ${phase}`).slice(2)).toEqual([
    'execute start',
    'execute:rootSelectionSet start',
    'resolve start',
    'resolve end',
    'execute:rootSelectionSet end',
    'execute end',
  ]);
});
