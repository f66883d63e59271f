import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Page } from '../../src/schema/plugin/page.ts';
import { graphql } from '../generated/index.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { branchesOf, branchOf } from '../support/records.ts';

const { bank, ask } = await shareBankqlFixture();

const BranchPage = graphql(`
  query BranchPage($first: Int, $after: String, $last: Int, $before: String) {
    bank {
      branches(first: $first, after: $after, last: $last, before: $before) {
        totalCount
        nodes { branchId }
        edges { cursor node { branchId } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }
`);

const serve = (branches: readonly unknown[]) => void bank.otherwise({ body: { branches } });
const serveMany = (count: number) => serve(branchesOf(count, (n) => ({ id: `B${n}` })).branches);
async function pageOf(variables: object) {
  const { data, errors } = await ask(BranchPage, variables);
  expect(errors).toBeUndefined();
  return data?.bank?.branches ?? expect.unreachable();
}

interface PageArguments {
  readonly first?: number;
  readonly last?: number;
  /** The positions of the entries whose cursors are used. */
  readonly after?: number;
  readonly before?: number;
}

/** The positions on a page, computed literally as the Relay specification describes. */
function reference(count: number, { first, last, after = -1, before = count }: PageArguments) {
  let page = Array.from({ length: count }, (_, index) => index).filter(
    (index) => index > after && index < before,
  );
  if (first !== undefined) page = page.slice(0, first);
  if (last !== undefined) page = last === 0 ? [] : page.slice(-last);
  return page;
}

describe('a connection', () => {
  test('has the pages that the Relay specification defines', async () => {
    const count = 12;
    serveMany(count);
    const cursors = (await pageOf({})).edges?.map((edge) => edge?.cursor ?? '') ?? [];
    expect(new Set(cursors).size).toBe(count);

    const size = fc.nat({ max: count + 2 });
    const position = fc.nat({ max: count - 1 });
    const pages = fc.record(
      { first: size, last: size, after: position, before: position },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(pages, async (page) => {
        const cursorAt = (index?: number) => (index === undefined ? undefined : cursors[index]);
        const found = await pageOf({ ...page, after: cursorAt(page.after), before: cursorAt(page.before) });
        const positions = reference(count, page);
        const nodes = positions.map((index) => ({ branchId: `B${index}` }));
        const [start, end] = [positions[0], positions.at(-1)];
        expect(found).toEqual({
          totalCount: count,
          nodes,
          edges: positions.map((index, nth) => ({ cursor: cursors[index], node: nodes[nth] })),
          pageInfo: {
            startCursor: cursorAt(start) ?? null,
            endCursor: cursorAt(end) ?? null,
            hasPreviousPage: start === undefined ? expect.any(Boolean) : start > 0,
            hasNextPage: end === undefined ? expect.any(Boolean) : end < count - 1,
          },
        });
      }),
      { seed: 20_261_120, numRuns: 150 },
    );
  });

  test('is the whole list without a page size, and never longer than `first`', async () => {
    serveMany(150);
    for (const [page, length] of [
      [{}, 150],
      [{ first: null, last: null, after: null, before: null }, 150],
      [{ first: 2_147_483_647, last: 2_147_483_647 }, 150],
      [{ first: 120 }, 120],
    ] as const) {
      const { nodes, pageInfo } = await pageOf(page);
      expect([nodes?.length, pageInfo.hasNextPage]).toEqual([length, length < 150]);
    }
  });

  test('of an empty list is empty and has no next page', async () => {
    serve([]);
    expect(await pageOf({ first: 10 })).toEqual({
      totalCount: 0,
      nodes: [],
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  test('is the whole list if `after` and `before` are empty', async () => {
    serveMany(3);
    expect(await pageOf({ after: '', before: '' })).toEqual(await pageOf({}));
  });

  test('counts entries that break the contract, and keeps their position', async () => {
    serve([null, branchOf({ id: 'B0' })]);
    const first = await ask(BranchPage, { first: 1 });
    expect(failuresOf(first)).toEqual(
      ['edges.0.node', 'nodes.0'].map((at) => `bank.branches.${at} BANK_BAD_RESPONSE`),
    );
    const next = await pageOf({ first: 1, after: first.data?.bank?.branches?.pageInfo.endCursor });
    expect(next).toMatchObject({ totalCount: 2, nodes: [{ branchId: 'B0' }] });
  });
});

test('the entries of a page are made one by one when they are read', () => {
  const made: number[] = [];
  const whole = { first: Infinity, after: null, last: Infinity, before: null };
  const { nodes, edges } = new Page(
    ['a', 'b', 'c'],
    whole,
    (record, index) => {
      made.push(index);
      return record;
    },
    { lists: { charge() {} } },
    () => null,
  );
  expect([nodes.length, edges.length]).toEqual([3, 3]);
  expect(made).toEqual([]);
  const [first] = nodes;
  expect([first, made]).toEqual(['a', [0]]);
  expect([...edges].map(({ node }) => node)).toEqual(['a', 'b', 'c']);
});

describe('a page continues after the entry of its cursor', () => {
  const after = (cursor: string) => ({ first: 2, after: cursor });
  /**
   * Branches with these names, which are also their ids. `name=id` gives another id, and `name=` gives no id.
   */
  const listOf = (names: string) =>
    names.split(' ').map((text) => {
      const [name, id = name] = text.split('=');
      return branchOf({ name, id: id === '' ? null : id, meta: { license: name } });
    });
  const names = async (page: object) => {
    const result = await ask<unknown, object>(
      `query ($first: Int, $after: String, $last: Int, $before: String) {
        bank { branches(first: $first, after: $after, last: $last, before: $before) { nodes { name } } }
      }`,
      page,
    );
    expect(result.errors).toBeUndefined();
    return [...JSON.stringify(result.data).matchAll(/"name":"(\w+)"/g)].map(([, name]) => name).join(' ');
  };

  test.each<[string, string, string, (cursor: string) => object, string]>([
    ['another entry was added before it', 'a b c d', 'new a b c d', after, 'c d'],
    ['an entry before it was removed', 'a b c d', 'b c d', after, 'c d'],
    ['the entry of the cursor was removed', 'a b c d', 'a c d', after, 'c d'],
    ['only entries before it remain', 'a b c d', 'a', after, ''],
    ['the list has another order', 'a b c d', 'd c b a', after, 'a'],
    ['entries have no id', 'a= b= c=', 'a= b= c=', after, 'c'],
    ['several have its id', 'a=x b=x c', 'a=x b=x c', after, 'c'],
    [
      'another entry was added, and the page is the one before the cursor',
      'a b c d',
      'new a b c d',
      (cursor) => ({ last: 2, before: cursor }),
      'new a',
    ],
    [
      'the cursor is from an earlier version and has only a position',
      'a b c d',
      'a b c d',
      () => after(Buffer.from('at:1').toString('base64url')),
      'c d',
    ],
  ])('if %s', async (_, before, then, page, expected) => {
    serve(listOf(before));
    const cursor = (await pageOf({ first: 2 })).pageInfo.endCursor ?? '';
    serve(listOf(then));
    expect(await names(page(cursor))).toBe(expected);
  });

  test.each([
    ['another one came', 'n c b a', 'b a'],
    ['it was deleted', 'b a', 'b a'],
    ['nothing changed', 'c b a', 'b a'],
    ['others have the same content', 'c c a', 'c a'],
  ])('in a list of messages, which have no ids, if %s', async (_, then, expected) => {
    const messages = (texts: string) =>
      bank.otherwise({ body: { messages: texts.split(' ').map((message) => ({ message, date: 'd' })) } });
    const page = async (args: string) => {
      const { data, errors } = await ask(
        `{ bank { messages(${args}) { edges { cursor node { message } } pageInfo { endCursor } } } }`,
      );
      expect(errors).toBeUndefined();
      return Object(data).bank.messages;
    };
    messages('c b a');
    const { edges, pageInfo } = await page('first: 1');
    expect(edges).toEqual([{ cursor: pageInfo.endCursor, node: { message: 'c' } }]);
    messages(then);
    const next = await page(`first: 2, after: "${pageInfo.endCursor}"`);
    expect(next.edges.map(({ node }: { node: { message: string } }) => node.message).join(' ')).toBe(
      expected,
    );
    expect(bank.calls).toHaveLength(2);
  });
});
