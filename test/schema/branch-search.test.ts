import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distanceKm } from '../../src/schema/branch-search.ts';
import { graphql } from '../generated/index.ts';
import { type BankqlFixture, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

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
    ['all of them, where the text is empty', { search: '' }, all],
    ['with a text, near a place', { search: 'nic', near: { ...nicosia, radiusKm: 1 } }, ['Nicosia 10']],
  ])('%s', async (_, variables, ids) => {
    await using fixture = await start();
    const found = await search(fixture, variables);
    expect(found.ids).toEqual(ids);
    expect(found.totalCount).toBe(ids.length);
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('are looked for in what the bank finds where there is a filter', async () => {
    await using fixture = await start();
    fixture.bank.on('POST /v1/api/banks/BANK/branches', { body: { branches } });
    const found = await search(fixture, { filter: { id: 'Q', name: 'N' }, search: 'Nicosia' });
    expect(found.ids).toEqual(['Nicosia 10', 'broken']);
    expect(fixture.bank.calls.map(({ body }) => body)).toEqual(['{"id":"Q","name":"N"}']);
  });

  test('without a filter stay the ones of the bank’s list', async () => {
    await using fixture = await start();
    const { nodes } = await search(fixture, { near: nicosia });
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

  test.each([
    ['near.latitude', { latitude: 91, longitude: 0 }],
    ['near.longitude', { latitude: 0, longitude: -180.5 }],
    ['near.radiusKm', { ...nicosia, radiusKm: -1 }],
  ])('are not asked for with an invalid %s, which the error names', async (member, near) => {
    await using fixture = await start();
    const { errors } = await fixture.ask(SearchBranches, { near });
    expect(errors?.map(({ extensions }) => extensions)).toMatchObject([
      { code: 'BAD_USER_INPUT', argument: member.split('.') },
    ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('say no distance from what is no place', async () => {
    await using fixture = await start();
    const { failures } = await search(fixture, { from: { latitude: 0, longitude: 181 } });
    expect(failures).toHaveLength(6);
    expect(failures[0]).toBe('bank.branches.nodes.0.distanceKm BAD_USER_INPUT');
  });
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
