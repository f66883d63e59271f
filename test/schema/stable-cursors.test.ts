import { expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const root = '/v1/api/banks/BANK';
const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
  bank { branches(first: $first, after: $after, last: $last, before: $before) {
    nodes { name } pageInfo { startCursor endCursor }
  } }
}`;

const branch = (name: string, id: string | null = name) => ({ id, name, acceptsDeposits: true });

/** The names on a page after the bank's list has changed to `then`. */
async function nextPage(
  before: readonly object[],
  then: readonly object[],
  page: (cursor: string) => object,
) {
  await using fixture = await startBankqlFixture();
  const list = `GET ${root}/branches`;
  fixture.bank.on(list, { body: { branches: before } });
  const first = await fixture.ask(query, { first: 2 });
  const cursor = Object(first.data).bank.branches.pageInfo.endCursor;
  fixture.bank.on(list, { body: { branches: then } });
  const second = await fixture.ask(query, page(cursor));
  expect([...failuresOf(first), ...failuresOf(second)]).toEqual([]);
  return Object(second.data).bank.branches.nodes.map(({ name }: { name: string }) => name);
}

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => branch(name));
const added = branch('new');
const abcd = [a, b, c, d] as object[];
const after = (cursor: string) => ({ first: 2, after: cursor });

test.each([
  ['an entry is put before', abcd, [added, a, b, c, d], after, ['c', 'd']],
  ['entries before it disappear', abcd, [b, c, d], after, ['c', 'd']],
  ['its own entry disappears', abcd, [a, c, d], after, ['c', 'd']],
  ['all that remains is before it', abcd, [a], after, []],
  ['the list is sorted otherwise', abcd, [d, c, b, a], after, ['a']],
  [
    'entries have no id',
    [branch('a', null), branch('b', null), branch('c', null)],
    [branch('a', null), branch('b', null), branch('c', null)],
    after,
    ['c'],
  ],
  [
    'several have its id',
    [branch('a', 'x'), branch('b', 'x'), c],
    [branch('a', 'x'), branch('b', 'x'), c],
    after,
    ['c'],
  ],
  [
    'an entry is put before, and the page precedes it',
    abcd,
    [added, a, b, c, d],
    (cursor: string) => ({ last: 2, before: cursor }),
    ['new', 'a'],
  ],
] as [string, object[], object[], (cursor: string) => object, string[]][])(
  'a page continues at its cursor’s entry if %s',
  async (_, before, then, page, expected) => {
    expect(await nextPage(before, then, page)).toEqual(expected);
  },
);

test('a cursor of an earlier version, which is a position alone, is understood', async () => {
  const old = Buffer.from('at:1').toString('base64url');
  expect(await nextPage(abcd, abcd, () => after(old))).toEqual(['c', 'd']);
});

test.each<[string, readonly string[], readonly string[]]>([
  ['another one came', ['new', 'c', 'b', 'a'], ['b', 'a']],
  ['it was deleted', ['b', 'a'], ['b', 'a']],
  ['nothing changed', ['c', 'b', 'a'], ['b', 'a']],
  ['others have the same content', ['c', 'c', 'a'], ['c', 'a']],
])(
  'a page of messages, which have no ids, continues at its cursor’s message if %s',
  async (_, then, expected) => {
    await using fixture = await startBankqlFixture();
    const line = `GET ${root}/customer/messages`;
    const serve = (texts: readonly string[]) =>
      fixture.bank.on(line, {
        body: { messages: texts.map((message) => ({ message, date: '2024-01-01' })) },
      });
    const page = async (args: string) => {
      const { data, errors } = await fixture.ask(
        `{ bank { messages(${args}) { edges { cursor node { message } } pageInfo { endCursor } } } }`,
      );
      expect(errors).toBeUndefined();
      return Object(data).bank.messages;
    };
    serve(['c', 'b', 'a']);
    const { edges, pageInfo } = await page('first: 1');
    expect(edges).toEqual([{ cursor: pageInfo.endCursor, node: { message: 'c' } }]);
    serve(then);
    const next = await page(`first: 2, after: "${pageInfo.endCursor}"`);
    expect(next.edges.map(({ node }: { node: { message: string } }) => node.message)).toEqual(expected);
    expect(fixture.bank.lines()).toEqual([line, line]);
  },
);
