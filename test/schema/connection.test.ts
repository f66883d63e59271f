import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connection } from '../../src/schema/relay-connection.ts';
import { graphql } from '../generated/index.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

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

const list = (count: number) => ({
  body: {
    branches: Array.from({ length: count }, (_, index) => ({ acceptsDeposits: true, id: `B${index}` })),
  },
});

interface Page {
  readonly first?: number | null;
  readonly last?: number | null;
  /** Positions of the entries whose cursors are given. */
  readonly after?: number;
  readonly before?: number;
}

/** What the Relay specification says of a page, written as plainly as can be. */
function reference(count: number, { first, last, after, before }: Page) {
  const all = Array.from({ length: count }, (_, index) => index);
  let page = all.filter((index) => index > (after ?? -1) && index < (before ?? count));
  if (typeof first === 'number') page = page.slice(0, first);
  if (typeof last === 'number') page = last === 0 ? [] : page.slice(-last);
  return page;
}

describe('a connection', () => {
  test('answers pages as the Relay specification cuts them', async () => {
    const count = 12;
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(count));
    const whole = await fixture.ask(BranchPage, {});
    const cursors = (whole.data?.bank?.branches?.edges ?? []).map((edge) => edge?.cursor ?? '');
    expect(new Set(cursors).size).toBe(count);

    const size = fc.option(fc.nat({ max: count + 2 }), { nil: undefined });
    const position = fc.option(fc.nat({ max: count - 1 }), { nil: undefined });
    const pages = fc.record({ first: size, last: size, after: position, before: position });
    await fc.assert(
      fc.asyncProperty(pages, async ({ first, last, after, before }) => {
        const page = {
          ...(first === undefined ? {} : { first }),
          ...(last === undefined ? {} : { last }),
          ...(after === undefined ? {} : { after }),
          ...(before === undefined ? {} : { before }),
        };
        const result = await fixture.ask(BranchPage, {
          ...page,
          after: after === undefined ? undefined : cursors[after],
          before: before === undefined ? undefined : cursors[before],
        });
        expect(result.errors).toBeUndefined();
        const found = result.data?.bank?.branches;
        const positions = reference(count, page);
        const ids = positions.map((index) => `B${index}`);
        expect(found?.nodes?.map((node) => node?.branchId)).toEqual(ids);
        expect(found?.edges?.map((edge) => edge?.node?.branchId)).toEqual(ids);
        expect(found?.edges?.map((edge) => edge?.cursor)).toEqual(positions.map((index) => cursors[index]));
        expect(found?.totalCount).toBe(count);
        const [start, end] = [positions[0], positions.at(-1)];
        expect(found?.pageInfo.startCursor).toBe(start === undefined ? null : cursors[start]);
        expect(found?.pageInfo.endCursor).toBe(end === undefined ? null : cursors[end]);
        if (start !== undefined && end !== undefined) {
          expect(found?.pageInfo.hasPreviousPage).toBe(start > 0);
          expect(found?.pageInfo.hasNextPage).toBe(end < count - 1);
        }
      }),
      { seed: 20_261_120, numRuns: 300 },
    );
  });

  test('gives all 150 entries without `first`, and 120 where it is asked for 120', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(150));
    const whole = await fixture.ask(BranchPage, {});
    expect(whole.data?.bank?.branches?.nodes).toHaveLength(150);
    expect(whole.data?.bank?.branches?.pageInfo).toMatchObject({
      hasNextPage: false,
      hasPreviousPage: false,
    });
    const most = await fixture.ask(BranchPage, { first: 120 });
    expect(most.data?.bank?.branches?.edges).toHaveLength(120);
    expect(most.data?.bank?.branches?.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const more = await fixture.ask(BranchPage, { first: 2_147_483_647, last: 2_147_483_647 });
    expect(more.data?.bank?.branches?.nodes).toHaveLength(150);
  });

  test('is whole where its arguments are null', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(30));
    const result = await fixture.ask(BranchPage, { first: null, last: null, after: null, before: null });
    expect(result.data?.bank?.branches?.nodes).toHaveLength(30);
  });

  test('leads through the whole list, page by page, forwards and backwards', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(11));
    const forwards: (string | null | undefined)[] = [];
    for (let after: string | null = null; ; ) {
      const page: Awaited<ReturnType<typeof ask>> = await ask({ first: 4, after });
      forwards.push(...(page?.nodes?.map((node) => node?.branchId) ?? []));
      if (page?.pageInfo.hasNextPage !== true) break;
      after = page.pageInfo.endCursor ?? null;
    }
    const backwards: (string | null | undefined)[] = [];
    for (let before: string | null = null; ; ) {
      const page: Awaited<ReturnType<typeof ask>> = await ask({ last: 4, before });
      backwards.unshift(...(page?.nodes?.map((node) => node?.branchId) ?? []));
      if (page?.pageInfo.hasPreviousPage !== true) break;
      before = page.pageInfo.startCursor ?? null;
    }
    const all = Array.from({ length: 11 }, (_, index) => `B${index}`);
    expect(forwards).toEqual(all);
    expect(backwards).toEqual(all);

    async function ask(page: {
      first?: number;
      after?: string | null;
      last?: number;
      before?: string | null;
    }) {
      return (await fixture.ask(BranchPage, page)).data?.bank?.branches;
    }
  });

  test('of an empty list is empty, and says so', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(0));
    const result = await fixture.ask(BranchPage, { first: 10 });
    expect(result.data?.bank?.branches).toEqual({
      totalCount: 0,
      nodes: [],
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  test('takes a cursor behind the end of a list that has become shorter', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(list(5));
    const cursor = (await fixture.ask(BranchPage, { last: 1 })).data?.bank?.branches?.pageInfo.endCursor;
    fixture.bank.otherwise(list(2));
    const behind = await fixture.ask(BranchPage, { after: cursor });
    expect(behind.errors).toBeUndefined();
    expect(behind.data?.bank?.branches).toMatchObject({
      totalCount: 2,
      nodes: [],
      pageInfo: { hasNextPage: false },
    });
    const before = await fixture.ask(BranchPage, { before: cursor });
    expect(before.data?.bank?.branches?.nodes).toHaveLength(2);
  });

  test('counts entries that break the contract, and keeps their places', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { branches: [null, ...list(3).body.branches] } });
    const first = await fixture.ask(BranchPage, { first: 1 });
    const cursor = first.data?.bank?.branches?.pageInfo.endCursor;
    const result = await fixture.ask(BranchPage, { first: 1, after: cursor });
    expect(result.errors).toBeUndefined();
    expect(result.data?.bank?.branches).toMatchObject({ totalCount: 4, nodes: [{ branchId: 'B0' }] });
  });
});

test('the entries of a page are made one by one, when they are asked for', () => {
  const made: number[] = [];
  const whole = { first: Infinity, after: null, last: Infinity, before: null };
  const { nodes, edges } = connection(
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
