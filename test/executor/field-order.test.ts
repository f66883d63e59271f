import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { prepare, schemaOf, told } from '../support/both-executors.ts';

/** The order in which fields are resolved, and how executions end: cases that same-as-graphql.test.ts does not generate. */

describe('order', () => {
  const log: string[] = [];
  const step = async (_source: unknown, { name, fails }: { name?: string; fails?: boolean }) => {
    log.push(`${name} begins`);
    await turn();
    log.push(`${name} ends`);
    if (fails) throw new Error(`${name} fails`);
    return { name };
  };
  const schema = schemaOf(
    `type Query { step(name: String, fails: Boolean): Step now: Int! hard: Int! later: Step }
     type Mutation { step(name: String, fails: Boolean): Step must(name: String, fails: Boolean): Step! now: Int! }
     type Step { name: String below: Step }`,
    {
      'Query.step': step,
      'Query.now': () => {
        log.push('now');
        throw new Error('now fails');
      },
      'Query.hard': async () => {
        await turn();
        throw new Error('hard fails');
      },
      'Query.later': async () => {
        await turn();
        await turn();
        log.push('later');
        return { name: 'later' };
      },
      'Mutation.step': step,
      'Mutation.must': step,
      'Mutation.now': () => {
        log.push('now');
        throw new Error('now fails');
      },
      'Step.name': (source) => {
        log.push('name');
        return Reflect.get(Object(source), 'name');
      },
      'Step.below': async (source) => {
        await turn();
        log.push('below');
        return source;
      },
    },
  );
  const logOf = async (text: string) => {
    log.length = 0;
    const answer = await prepare(schema, text).run();
    // If work continued after the answer, its effects would be visible now.
    for (let more = 0; more < 5; more++) await turn();
    const own = log.splice(0);
    return { answer, own };
  };

  test('the fields of a mutation run one after the other, each with all below it, one that fails too', async () => {
    const { answer, own } = await logOf(
      'mutation { a: step(name: "a") { below { name } } b: step(name: "b", fails: true) { name } c: step(name: "c") { name } }',
    );
    expect(own).toEqual([
      'a begins',
      'a ends',
      'below',
      'name',
      'b begins',
      'b ends',
      'c begins',
      'c ends',
      'name',
    ]);
    expect(answer.data).toEqual({ a: { below: { name: 'a' } }, b: null, c: { name: 'c' } });
  });

  test('those of a query begin together', async () => {
    const { own } = await logOf('{ a: step(name: "a") { __typename } b: step(name: "b") { __typename } }');
    expect(own).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
  });

  test.each(['now', 'must(name: "x", fails: true) { name }'])(
    'a mutation ends where null may not be: %s',
    async (field) => {
      const { answer, own } = await logOf(
        `mutation { a: step(name: "a") { name } ${field} b: step(name: "b") { name } }`,
      );
      expect(answer.data).toBeNull();
      expect(own.filter((line) => line.startsWith('b'))).toEqual([]);
      expect(own.slice(0, 3)).toEqual(['a begins', 'a ends', 'name']);
    },
  );

  test('after a failure at the root, where null may not be, nothing more is resolved', async () => {
    const atOnce = await logOf('{ now a: step(name: "a") { name } }');
    expect(atOnce.own).toEqual(['now']);
    expect(atOnce.answer.data).toBeNull();
    const later = await logOf('{ a: step(name: "a") { below { name } } hard later { name } }');
    // Resolvers that have begun run to their end; nothing below them begins.
    expect(later.own).toEqual(['a begins', 'a ends', 'below', 'later']);
    expect(told(later.answer)).toMatchObject({
      data: 'null',
      errors: [{ message: 'hard fails', path: ['hard'] }],
    });
  });
});
