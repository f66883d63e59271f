import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import DataLoader from 'dataloader';
import {
  buildSchema,
  GraphQLList,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  parse,
  validate,
} from 'graphql';
import { createYoga } from 'graphql-yoga';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startBankqlFixture } from './support/bankql-fixture.ts';

/**
 * What bankql leans on in its libraries: an upgrade that changes one fails here. undici's part is in
 * dependency-undici.test.ts.
 */

describe('yoga, as bankql sets it up', () => {
  const get = (query: string, headers: Record<string, string> = {}) =>
    new Request(`http://bankql.test/graphql?query=${encodeURIComponent(query)}`, { headers });

  test.each<[string, () => Request, number]>([
    ['a query', () => get('{ __typename }'), 200],
    [
      'a mutation by GET',
      () => get('mutation { putProduct(input: { product: { id: "p" } }) { trackId } }'),
      405,
    ],
    ['another method', () => new Request('http://bankql.test/graphql', { method: 'PUT', body: '{}' }), 405],
    ['another path', () => new Request('http://bankql.test/nothing', { method: 'POST', body: '{}' }), 404],
  ])('%s', async (_what, request, status) => {
    await using fixture = await startBankqlFixture();
    expect((await fixture.bankql.fetch(request())).status).toBe(status);
    expect(fixture.bank.calls).toEqual([]);
  });

  test('lets in no other origin', async () => {
    await using fixture = await startBankqlFixture();
    const { headers } = await fixture.bankql.fetch(get('{ __typename }', { Origin: 'https://evil.example' }));
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('an error that nobody expected says nothing, and is logged', async () => {
    await using fixture = await startBankqlFixture({
      authenticate: () => {
        throw new Error('the cause');
      },
    });
    const answer = await fixture.bankql.fetch(get('{ __typename }'));
    expect(await answer.text()).not.toContain('the cause');
    expect(answer.status).toBe(500);
    expect(fixture.bankql.log.join('')).toContain('the cause');
  });

  test('a connection without `first` gives all of 150 entries', async () => {
    await using fixture = await startBankqlFixture();
    const branches = Array.from({ length: 150 }, (_, n) => ({ id: `b${n}`, acceptsDeposits: true }));
    fixture.bank.otherwise({ body: { branches } });
    const all = await fixture.ask('{ bank { branches { totalCount edges { cursor } nodes { branchId } } } }');
    expect(all).toEqual({
      data: {
        bank: {
          branches: {
            totalCount: 150,
            edges: expect.objectContaining({ length: 150 }),
            nodes: branches.map(({ id }) => ({ branchId: id })),
          },
        },
      },
    });
  });
});

test('yoga’s executor: an Error as a value, or in a list, is a null with an error in its place', async () => {
  const broken = () => new Error('broken');
  const yoga = createYoga({
    logging: false,
    maskedErrors: false,
    schema: new GraphQLSchema({
      query: new GraphQLObjectType({
        name: 'Query',
        fields: {
          value: { type: GraphQLString, resolve: broken },
          list: { type: new GraphQLList(GraphQLString), resolve: () => ['a', broken(), 'c'] },
        },
      }),
    }),
  });
  const answer = await yoga.fetch('http://bankql.test/graphql?query={value,list}');
  expect(await answer.json()).toEqual({
    data: { value: null, list: ['a', null, 'c'] },
    errors: [
      expect.objectContaining({ message: 'broken', path: ['value'] }),
      expect.objectContaining({ message: 'broken', path: ['list', 1] }),
    ],
  });
});

describe('graphql', () => {
  const schema = buildSchema('type Query { bank: String }');

  test('stops at `maxTokens`, in the words that use-document-limits.ts knows it by', () => {
    expect(() => parse('{ bank }', { maxTokens: 3 })).not.toThrow();
    expect(() => parse('{ bank bank }', { maxTokens: 3 })).toThrow('Parsing aborted');
  });

  test('suggests names, unless `hideSuggestions` is on', () => {
    const messages = (hideSuggestions: boolean) =>
      validate(schema, parse('{ bnk }'), undefined, { hideSuggestions }).map(({ message }) => message);
    expect(messages(false).join()).toContain('Did you mean');
    expect(messages(true).join()).not.toContain('Did you mean');
  });

  test('stops at `maxErrors`, with one error more that says so', () => {
    const document = parse(`{ ${Array.from({ length: 100 }, (_, n) => `a${n}`).join(' ')} }`);
    expect(validate(schema, document, undefined, { maxErrors: 1 })).toHaveLength(2);
  });
});

test('pino: a destination that is `sync` has written a line when the call is over; the audit log is one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-pino-'));
  const dest = join(folder, 'audit.log');
  const logger = pino(pino.destination({ dest, sync: true }));
  for (const state of ['PENDING', 'DONE']) {
    logger.info({ state });
    expect(readFileSync(dest, 'utf8')).toContain(`"state":"${state}"}\n`);
  }
  rmSync(folder, { recursive: true });
  const serve = readFileSync(join(import.meta.dirname, '../src/commands/serve.ts'), 'utf8');
  expect(serve).toContain('const auditOutput = openLogOutput(1, true, ');
  expect(serve).toContain(
    "const lasting = pino(logOptions('info', secrets, config.logTime), auditOutput.stream);",
  );
  expect(serve).toContain("const audit = lasting.child({ audit: 'payment' });");
  const output = readFileSync(join(import.meta.dirname, '../src/commands/log-output.ts'), 'utf8');
  expect(output).toContain('...{ dest, sync: true, ');
});

test('dataloader: keys of one turn go together, those of promises that were resolved in it too, each once', async () => {
  const batches: (readonly string[])[] = [];
  const loader = new DataLoader<string, string>(async (keys) => {
    batches.push(keys);
    return keys;
  });
  await Promise.all([
    loader.load('a'),
    loader.load('b'),
    Promise.resolve()
      .then(() => {})
      .then(() => loader.load('c')),
    loader.load('a'),
  ]);
  expect(batches).toEqual([['a', 'b', 'c']]);
});

test('zod: `safeParse` leaves its input as it is, sound or not', () => {
  const shape = z.object({ id: z.string(), list: z.array(z.object({ n: z.number() })) });
  for (const input of [
    { id: 'x', more: 1, list: [{ n: 1, more: 2 }] },
    { id: 1, list: [{ n: 'x' }, null] },
  ]) {
    const before = structuredClone(input);
    const list = input.list;
    shape.safeParse(Object.freeze(input));
    expect(input).toEqual(before);
    expect(input.list).toBe(list);
  }
});
