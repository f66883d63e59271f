import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distanceKm } from '../../src/schema/branch-search.ts';
import { graphql } from '../generated/index.ts';
import { type BankqlFixture, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const SearchBranches = graphql(`
  query SearchBranches(
    $filter: BranchFilter
    $near: NearInput
    $orderBy: BranchOrder
    $acceptsDeposits: Boolean
    $city: String
    $from: CoordinatesInput! = { latitude: 35.1709, longitude: 33.3589 }
  ) {
    bank {
      branches(filter: $filter, near: $near, orderBy: $orderBy, acceptsDeposits: $acceptsDeposits, city: $city) {
        totalCount
        nodes { id branchId name distanceKm(from: $from) }
      }
    }
  }
`);

const BranchAgain = graphql(`
  query BranchAgain($id: ID!) { node(id: $id) { ... on Branch { name } } }
`);

const list = 'GET /v1/api/banks/BANK/branches';
const at = (latitude: number, longitude?: number) => ({ location: { latitude, longitude } });
const branches = [
  {
    acceptsDeposits: true,
    id: 'athens',
    name: 'Athens',
    address: { city: 'Αθήνα' },
    ...at(37.9755, 23.7348),
  },
  {
    acceptsDeposits: false,
    id: 'limassol',
    name: 'limassol',
    address: { city: 'Limassol' },
    ...at(34.6786, 33.0413),
  },
  { acceptsDeposits: true, id: 'nowhere', name: 'Nowhere', address: { city: 'Zürich' } },
  { acceptsDeposits: true, name: 'Nicosia 10', address: { city: 'Nicosia' }, ...at(35.1709, 33.3589) },
  { acceptsDeposits: true, id: 'half', address: { city: 'NICOSIA ' }, ...at(35.1709) },
  { acceptsDeposits: 'perhaps', id: 'broken', name: 'Nicosia 9', location: { latitude: 'x' } },
];

async function start() {
  const fixture = await startBankqlFixture();
  fixture.bank.on(list, { body: { branches } });
  return fixture;
}
const nicosia = { latitude: 35.1709, longitude: 33.3589 };

async function search({ ask }: Pick<BankqlFixture, 'ask'>, variables: object) {
  const result = await ask(SearchBranches, variables);
  const { nodes, totalCount } = result.data?.bank?.branches ?? {};
  return {
    nodes,
    totalCount,
    ids: nodes?.map((node) => node?.branchId ?? node?.name),
    failures: failuresOf(result),
  };
}

describe('branches of the one list', () => {
  const all = ['athens', 'limassol', 'nowhere', 'Nicosia 10', 'half', 'broken'];
  test.each<[string, object, string[]]>([
    ['as the bank lists them', {}, all],
    [
      'where all arguments are null',
      { filter: null, near: null, orderBy: null, acceptsDeposits: null, city: null },
      all,
    ],
    ['around a place', { near: { ...nicosia, radiusKm: 100 } }, ['limassol', 'Nicosia 10']],
    ['at a place', { near: { ...nicosia, radiusKm: 0 } }, ['Nicosia 10']],
    [
      'the nearest first',
      { near: nicosia, orderBy: 'DISTANCE' },
      ['Nicosia 10', 'limassol', 'athens', 'nowhere', 'half', 'broken'],
    ],
    [
      'around a place, the nearest first',
      { near: { ...nicosia, radiusKm: 2000 }, orderBy: 'DISTANCE' },
      ['Nicosia 10', 'limassol', 'athens'],
    ],
    [
      'by their names',
      { orderBy: 'NAME' },
      ['athens', 'limassol', 'broken', 'Nicosia 10', 'nowhere', 'half'],
    ],
    ['that accept deposits', { acceptsDeposits: true }, ['athens', 'nowhere', 'Nicosia 10', 'half']],
    ['that do not', { acceptsDeposits: false }, ['limassol']],
    ['of a city, whatever its case', { city: 'nicosia' }, ['Nicosia 10', 'half']],
    ['of a city, whatever its accents', { city: 'Zurich' }, ['nowhere']],
    ['of a name, where the filter has no id', { filter: { name: 'NICOSIA' } }, ['Nicosia 10', 'broken']],
    ['all of them, where the filter is empty', { filter: {} }, all],
    [
      'that are all of it',
      { filter: { name: 'nic' }, acceptsDeposits: true, near: { ...nicosia, radiusKm: 1 } },
      ['Nicosia 10'],
    ],
  ])('%s', async (_, variables, ids) => {
    await using fixture = await start();
    const found = await search(fixture, variables);
    expect(found.ids).toEqual(ids);
    expect(found.totalCount).toBe(ids.length);
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('are looked for in what the bank finds where the filter has an id', async () => {
    await using fixture = await start();
    fixture.bank.on('POST /v1/api/banks/BANK/branches', { body: { branches } });
    const found = await search(fixture, { filter: { id: 'Q', name: 'N' }, city: 'Nicosia' });
    expect(found.ids).toEqual(['Nicosia 10', 'half']);
    expect(fixture.bank.calls.map(({ body }) => body)).toEqual(['{"id":"Q","name":"N"}']);
  });

  test('without an id stay the ones of the bank’s list', async () => {
    await using fixture = await start();
    const { nodes } = await search(fixture, { near: nicosia, orderBy: 'DISTANCE' });
    const id = nodes?.[0]?.id ?? '';
    expect((await fixture.ask(BranchAgain, { id })).data?.node).toEqual({ name: 'Nicosia 10' });
  });

  test('say how far they are, where they say where', async () => {
    await using fixture = await start();
    const { nodes, failures } = await search(fixture, {});
    expect(nodes?.map((node) => node?.distanceKm && Math.round(node.distanceKm))).toEqual([
      914,
      62,
      null,
      0,
      null,
      null,
    ]);
    expect(failures).toEqual(['bank.branches.nodes.5.distanceKm BANK_BAD_RESPONSE']);
  });

  test.each<[string, object]>([
    ['a latitude that is none', { near: { latitude: 91, longitude: 0 } }],
    ['a longitude that is none', { near: { latitude: 0, longitude: -180.5 } }],
    ['a radius that is none', { near: { ...nicosia, radiusKm: -1 } }],
    ['an order by distance from nowhere', { orderBy: 'DISTANCE' }],
  ])('are not asked for with %s', async (_, variables) => {
    await using fixture = await start();
    expect((await search(fixture, variables)).failures).toEqual(['bank.branches BAD_USER_INPUT']);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('say no distance from what is no place', async () => {
    await using fixture = await start();
    const { failures } = await search(fixture, { from: { latitude: 0, longitude: 181 } });
    expect(failures).toHaveLength(6);
    expect(failures[0]).toBe('bank.branches.nodes.0.distanceKm BAD_USER_INPUT');
  });
});

describe('the spelling of a text that is searched', () => {
  test.each([
    ['Königstraße', 'KONIGSTRASSE'],
    ['KÖNIGSTRASSE', 'königstraße'],
    ['Tromsø', 'tromso'],
    ['ŁÓDŹ', 'Lodz'],
    ['Ærøskøbing', 'aeroskobing'],
    ['Đà Nẵng', 'danang'],
    ['Ισθμός', 'ΙΣΘΜΟΣ'],
    ['ΙΣΘΜΟΣ', 'ισθμός'],
    ['ISPARTA', 'ısparta'],
    ['İZMİR', 'izmir'],
    ['\u212bngström', 'angstrom'],
    [' New  York ', 'new york'],
  ])('does not matter, as city or as name: %j is found by %j', async (written, asked) => {
    await using fixture = await startBankqlFixture();
    const others = { acceptsDeposits: true, id: 'other', name: 'Other', address: { city: 'Other' } };
    fixture.bank.on(list, {
      body: { branches: [others, { ...others, id: 'it', name: written, address: { city: written } }] },
    });
    expect((await search(fixture, { city: asked })).ids).toEqual(['it']);
    expect((await search(fixture, { filter: { name: asked } })).ids).toEqual(['it']);
  });
});

/** Without a bound, each comparison of such texts takes a second, and the bank's list as long for each entry. */
test('of combining marks in a row, the first thirty count', async () => {
  const marked = (letter: string, count: number) => letter + '\u05b0\u05bc'.repeat(count / 2);
  const named = (id: string, name: string) => ({ acceptsDeposits: true, id, name, address: { city: name } });
  await using fixture = await startBankqlFixture();
  fixture.bank.on(list, {
    body: {
      branches: [
        named('b', marked('b', 20_000)),
        named('a', marked('a', 32)),
        named('long', marked('b', 20_000)),
        named('a few', marked('a', 28)),
      ],
    },
  });
  for (const text of [marked('a', 30), marked('a', 20_000)]) {
    expect((await search(fixture, { city: text })).ids).toEqual(['a']);
    expect((await search(fixture, { filter: { name: text } })).ids).toEqual(['a']);
  }
  expect((await search(fixture, { orderBy: 'NAME' })).ids).toEqual(['a', 'a few', 'b', 'long']);
});

describe('a distance', () => {
  const latitude = fc.double({ min: -90, max: 90, noNaN: true });
  const longitude = fc.double({ min: -180, max: 180, noNaN: true });
  const place = fc.record({ latitude, longitude });

  test('is that of the great circle', () => {
    // Half of the equator, and a degree of a meridian.
    expect(distanceKm({ latitude: 0, longitude: 0 }, { latitude: 0, longitude: 180 })).toBeCloseTo(
      20_015.11,
      1,
    );
    expect(distanceKm({ latitude: 10, longitude: 5 }, { latitude: 11, longitude: 5 })).toBeCloseTo(
      111.195,
      2,
    );
    expect(distanceKm({ latitude: 0, longitude: 179.5 }, { latitude: 0, longitude: -179.5 })).toBeCloseTo(
      111.195,
      2,
    );
  });

  test('is the same there and back, and at most half of the earth’s circumference', () => {
    fc.assert(
      fc.property(place, place, (from, to) => {
        const there = distanceKm(from, to);
        expect(there).toBeCloseTo(distanceKm(to, from), 6);
        expect(there >= 0 && there <= 20_015.2).toBe(true);
        expect(distanceKm(from, from)).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
