import { beforeEach, describe, expect, test } from 'vitest';
import { distanceKm } from '../../src/schema/branch-search.ts';
import { graphql } from '../generated/index.ts';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { branchOf } from '../support/records.ts';

const { bank, ask } = await shareBankqlFixture();

const SearchBranches = graphql(`
  query SearchBranches(
    $filter: BranchFilter
    $near: NearInput
    $search: String
  ) {
    bank {
      branches(filter: $filter, near: $near, search: $search) {
        totalCount
        nodes { id branchId name }
        edges { distanceKm node { branchId } }
      }
    }
  }
`);

const list = 'GET /v1/api/banks/BANK/branches';
const at = (latitude: number, longitude?: number) => ({ location: { latitude, longitude } });
const branches = [
  branchOf({ id: 'athens', name: 'Athens', ...at(37.9755, 23.7348) }),
  branchOf({ id: 'limassol', name: 'limassol', ...at(34.6786, 33.0413) }),
  branchOf({ id: 'nowhere', name: 'Nowhere' }),
  branchOf({ name: 'Nicosia 10', ...at(35.1709, 33.3589) }),
  branchOf({ id: 'half', address: { city: 'NICOSIA ' }, ...at(35.1709) }),
  branchOf({ acceptsDeposits: 'perhaps', id: 'broken', name: 'Nicosia 9', location: { latitude: 'x' } }),
];
beforeEach(() => void bank.on(list, { body: { branches } }));
const nicosia = { latitude: 35.1709, longitude: 33.3589 };

async function search(variables: object) {
  const result = await ask(SearchBranches, variables);
  const { nodes, edges, totalCount } = result.data?.bank?.branches ?? {};
  const ids = nodes?.map((node) => node?.branchId ?? node?.name);
  return { edges, totalCount, ids, failures: failuresOf(result) };
}

describe('branches', () => {
  const all = ['athens', 'limassol', 'nowhere', 'Nicosia 10', 'half', 'broken'];
  test.each<[string, object, string[]]>([
    ['are in the order of the bank', {}, all],
    [
      'are in the order of the bank if all arguments are null',
      { filter: null, near: null, search: null },
      all,
    ],
    [
      'near a place come in the order of their distance',
      { near: nicosia },
      ['Nicosia 10', 'limassol', 'athens', 'nowhere', 'half', 'broken'],
    ],
    [
      'within a radius of 2,000 km come in the order of their distance',
      { near: { ...nicosia, radiusKm: 2000 } },
      ['Nicosia 10', 'limassol', 'athens'],
    ],
    [
      'within a radius of 100 km are only those',
      { near: { ...nicosia, radiusKm: 100 } },
      ['Nicosia 10', 'limassol'],
    ],
    [
      'within a radius of 0 are those at the place itself',
      { near: { ...nicosia, radiusKm: 0 } },
      ['Nicosia 10'],
    ],
    [
      'are found by a part of their name, in upper or lower case',
      { search: 'NICOSIA' },
      ['Nicosia 10', 'broken'],
    ],
    ['are found by a part of their name, with other accents', { search: 'äthẽns' }, ['athens']],
    ['are all found by an empty text', { search: '' }, all],
    ['are not found by a text that no name contains', { search: 'ä'.repeat(255) }, []],
    [
      'are found by a text and a place together',
      { search: 'nic', near: { ...nicosia, radiusKm: 1 } },
      ['Nicosia 10'],
    ],
  ])('%s', async (_, variables, ids) => {
    const found = await search(variables);
    expect(found.ids).toEqual(ids);
    expect(found.totalCount).toBe(ids.length);
    expect(bank.lines()).toEqual([list]);
  });

  test('are searched in the result of the bank if there is a filter', async () => {
    bank.on('POST /v1/api/banks/BANK/branches', { body: { branches } });
    const found = await search({ filter: { id: 'Q', name: 'N' }, search: 'Nicosia' });
    expect(found.ids).toEqual(['Nicosia 10', 'broken']);
    expect(bank.calls.map(({ body }) => body)).toEqual(['{"id":"Q","name":"N"}']);
  });

  test('have a distance on their edges if their location is known', async () => {
    const { edges, failures } = await search({ near: nicosia });
    const distances = edges?.map(({ distanceKm }) => distanceKm && Math.round(distanceKm));
    expect(distances).toEqual([0, 62, 914, null, null, null]);
    expect(failures).toEqual(['bank.branches.edges.5.distanceKm BANK_BAD_RESPONSE']);
    expect(bank.lines()).toEqual([list]);
  });

  test('have no distance without `near`, and one for each list with its own `near`', async () => {
    const { edges, failures } = await search({});
    expect(edges?.map(({ distanceKm }) => distanceKm)).toEqual(Array(6).fill(null));
    expect(failures).toEqual([]);
    const first = (near: string) =>
      `branches(near: ${near}, first: 1) { edges { distanceKm node { branchId } } }`;
    const { data } = await ask<{ bank: Record<string, { edges: { distanceKm: number }[] }> }, object>(
      `{ bank { here: ${first('{ latitude: 37.9755, longitude: 23.7348 }')} there: ${first('{ latitude: 37.9755, longitude: 23.0 }')} } }`,
    );
    expect(data?.bank.here?.edges).toEqual([{ distanceKm: 0, node: { branchId: 'athens' } }]);
    expect(data?.bank.there?.edges[0]?.distanceKm).toBeCloseTo(64.4, 1);
  });

  test('that break the contract have an error in place of the distance', async () => {
    bank.on(list, { body: { branches: ['no branch', branches[0]] } });
    const { edges, failures } = await search({ near: nicosia });
    expect(
      edges?.map(({ distanceKm, node }) => [distanceKm && Math.round(distanceKm), node?.branchId]),
    ).toEqual([
      [914, 'athens'],
      [null, undefined],
    ]);
    expect(failures).toContain('bank.branches.edges.1.distanceKm BANK_BAD_RESPONSE');
  });
});

test.each([
  ['half of the equator', [0, 0], [0, 180], 20_015.1],
  ['a degree of a meridian', [10, 5], [11, 5], 111.2],
  ['a degree of the equator, across the date line', [0, 179.5], [0, -179.5], 111.2],
  ['no way at all', [10, 5], [10, 5], 0],
] as const)('the distance is that of the great circle: %s', (_, from, to, km) => {
  const place = ([latitude, longitude]: readonly [number, number]) => ({ latitude, longitude });
  expect(distanceKm(place(from), place(to))).toBeCloseTo(km, 1);
  expect(distanceKm(place(to), place(from))).toBeCloseTo(km, 1);
});
