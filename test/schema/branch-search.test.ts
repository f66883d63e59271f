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
    $from: CoordinatesInput! = { latitude: 35.1709, longitude: 33.3589 }
  ) {
    bank {
      branches(filter: $filter, near: $near, search: $search) {
        totalCount
        nodes { id branchId name distanceKm(from: $from) }
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
  const { nodes, totalCount } = result.data?.bank?.branches ?? {};
  const ids = nodes?.map((node) => node?.branchId ?? node?.name);
  return { nodes, totalCount, ids, failures: failuresOf(result) };
}

describe('branches of the one list', () => {
  const all = ['athens', 'limassol', 'nowhere', 'Nicosia 10', 'half', 'broken'];
  test.each<[string, object, string[]]>([
    ['as the bank lists them', {}, all],
    ['where all arguments are null', { filter: null, near: null, search: null }, all],
    [
      'the nearest first',
      { near: nicosia },
      ['Nicosia 10', 'limassol', 'athens', 'nowhere', 'half', 'broken'],
    ],
    [
      'around a place, the nearest first',
      { near: { ...nicosia, radiusKm: 2000 } },
      ['Nicosia 10', 'limassol', 'athens'],
    ],
    ['around a place', { near: { ...nicosia, radiusKm: 100 } }, ['Nicosia 10', 'limassol']],
    ['at a place', { near: { ...nicosia, radiusKm: 0 } }, ['Nicosia 10']],
    ['with a text in their name, whatever its case', { search: 'NICOSIA' }, ['Nicosia 10', 'broken']],
    ['with a text in their name, whatever its marks', { search: 'äthẽns' }, ['athens']],
    ['all of them, where the text is empty', { search: '' }, all],
    ['none, where the text is long', { search: 'ä'.repeat(255) }, []],
    ['with a text, near a place', { search: 'nic', near: { ...nicosia, radiusKm: 1 } }, ['Nicosia 10']],
  ])('%s', async (_, variables, ids) => {
    const found = await search(variables);
    expect(found.ids).toEqual(ids);
    expect(found.totalCount).toBe(ids.length);
    expect(bank.lines()).toEqual([list]);
  });

  test('are looked for in what the bank finds where there is a filter', async () => {
    bank.on('POST /v1/api/banks/BANK/branches', { body: { branches } });
    const found = await search({ filter: { id: 'Q', name: 'N' }, search: 'Nicosia' });
    expect(found.ids).toEqual(['Nicosia 10', 'broken']);
    expect(bank.calls.map(({ body }) => body)).toEqual(['{"id":"Q","name":"N"}']);
  });

  test('say how far they are, where they say where', async () => {
    const { nodes, failures } = await search({});
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

  test('say no distance from what is no place', async () => {
    const { failures } = await search({ from: { latitude: 0, longitude: 181 } });
    expect(failures).toHaveLength(6);
    expect(failures[0]).toBe('bank.branches.nodes.0.distanceKm BAD_USER_INPUT');
  });
});

test.each([
  ['half of the equator', [0, 0], [0, 180], 20_015.1],
  ['a degree of a meridian', [10, 5], [11, 5], 111.2],
  ['a degree of the equator, across the date line', [0, 179.5], [0, -179.5], 111.2],
  ['no way at all', [10, 5], [10, 5], 0],
] as const)('a distance is that of the great circle: %s', (_, from, to, km) => {
  const place = ([latitude, longitude]: readonly [number, number]) => ({ latitude, longitude });
  expect(distanceKm(place(from), place(to))).toBeCloseTo(km, 1);
  expect(distanceKm(place(to), place(from))).toBeCloseTo(km, 1);
});
