import { unwrap } from '../bank/response.ts';
import type { Branch, BranchQuery } from '../contract/branch.ts';
import { badUserInput } from '../errors.ts';
import { type Coordinates, checkCoordinates, coordinatesOf, distanceKm } from './branch-distance.ts';
import { builder } from './builder.ts';
import { omitNullish } from './common-types.ts';
import { nullOnError } from './field-extensions.ts';
import { notGlobalId } from './global-id.ts';
import { itemId } from './list-item.ts';

/** Branches are filtered and sorted here: the bank's interface supports neither distances nor cities. */

const latitude = 'In degrees, from -90 to 90.';
const longitude = 'In degrees, from -180 to 180.';

export const CoordinatesInput = builder.inputType('CoordinatesInput', {
  description: 'A place on the earth.',
  fields: (t) => ({
    latitude: t.float({ required: true, description: latitude }),
    longitude: t.float({ required: true, description: longitude }),
  }),
});

export const NearInput = builder.inputType('NearInput', {
  description: 'The surroundings of a place.',
  fields: (t) => ({
    latitude: t.float({ required: true, description: latitude }),
    longitude: t.float({ required: true, description: longitude }),
    radiusKm: t.float({ description: 'No farther than so many kilometres; however far where left out.' }),
  }),
});

export const BranchOrder = builder.enumType('BranchOrder', {
  description: 'In which order branches are listed. Those without a name, or without a place, are the last.',
  values: {
    NAME: { description: 'By their names.' },
    DISTANCE: { description: 'The nearest to `near` first.' },
  },
});

type Optional<T> = T | null | undefined;

/** The arguments of a list of branches. */
export interface BranchSearch {
  readonly filter?: Optional<{ readonly id?: Optional<string>; readonly name?: Optional<string> }>;
  readonly near?: Optional<Coordinates & { readonly radiusKm?: Optional<number> }>;
  readonly orderBy?: Optional<'NAME' | 'DISTANCE'>;
  readonly acceptsDeposits?: Optional<boolean>;
  readonly city?: Optional<string>;
}

/** The query for the bank; null for all branches. */
export function branchQueryOf({ filter }: BranchSearch): BranchQuery | null {
  if (filter?.id === null || filter?.id === undefined) return null;
  return omitNullish({ id: notGlobalId('filter.id', filter.id), name: filter.name });
}

/** The positions of entries without an id in the bank's list; they are identified by position. */
const positions = new WeakMap<object, number>();

/** The position of a branch in the bank's list, if the branch is in a list derived from that. */
export const positionOf = (branch: Branch): number | undefined => positions.get(branch);

function rememberPositions(list: readonly Branch[]): void {
  for (const [index, branch] of list.entries()) if (itemId(branch) === null) positions.set(branch, index);
}

type CompareTexts = Intl.Collator['compare'];

// Made for the first query that needs one: what they are made of takes 14 ms to load.
let compareNames: CompareTexts | undefined;
let compareCities: CompareTexts | undefined;

/**
 * Creates the function that filters and sorts the bank's list; null if the list is used unchanged. An entry is not
 * considered a match if a value that the search examines breaks the contract.
 * Errors: BAD_USER_INPUT for an invalid position or radius, and for an order by distance without a position.
 */
export function branchSelection(search: BranchSearch): ((list: readonly Branch[]) => Branch[]) | null {
  const { near, orderBy } = search;
  if (near) checkCoordinates('near', near);
  if (typeof near?.radiusKm === 'number' && !(near.radiusKm >= 0))
    throw badUserInput('near.radiusKm has to be zero or more.');
  if (orderBy === 'DISTANCE' && !near)
    throw badUserInput('orderBy: DISTANCE needs near: the distance from where?');

  const conditions = conditionsOf(search);
  if (conditions.length === 0 && !orderBy) return null;
  return (list) => {
    rememberPositions(list);
    const chosen = (orderBy === 'NAME' ? byName(list) : list).filter((branch) =>
      conditions.every((holds) => nullOnError(() => holds(unwrap(branch))) === true),
    );
    if (orderBy !== 'DISTANCE' || !near) return chosen;
    return sortedBy(
      chosen,
      (branch) => distanceTo(near, branch),
      (one, other) => one - other,
    );
  };
}

function conditionsOf({ filter, near, acceptsDeposits, city }: BranchSearch) {
  const conditions: ((branch: Branch) => boolean)[] = [];
  const name = filter?.id === null || filter?.id === undefined ? filter?.name?.toLowerCase() : undefined;
  if (name !== undefined) conditions.push((branch) => nameOf(branch)?.toLowerCase().includes(name) ?? false);
  if (typeof acceptsDeposits === 'boolean')
    conditions.push((branch) => branch.acceptsDeposits === acceptsDeposits);
  if (typeof city === 'string') {
    compareCities ??= new Intl.Collator('en', { sensitivity: 'base' }).compare;
    const compare = compareCities;
    conditions.push(({ address }) => {
      const there: unknown = address?.city;
      return typeof there === 'string' && compare(there, city) === 0;
    });
  }
  const radius = near?.radiusKm;
  if (near && typeof radius === 'number')
    conditions.push((branch) => (distanceTo(near, branch) ?? Infinity) <= radius);
  return conditions;
}

const listsByName = new WeakMap<readonly Branch[], readonly Branch[]>();

/** A list sorted by name, cached: a collator is slow. */
function byName(list: readonly Branch[]): readonly Branch[] {
  let sorted = listsByName.get(list);
  if (sorted === undefined) {
    compareNames ??= new Intl.Collator('en', { numeric: true }).compare;
    sorted = sortedBy(list, nameOf, compareNames);
    listsByName.set(list, sorted);
  }
  return sorted;
}

const nameOf = ({ name }: Branch): string | null => (typeof name === 'string' ? name : null);

const distanceTo = (from: Coordinates, branch: Branch): number | null => {
  const to = coordinatesOf(branch);
  return to && distanceKm(from, to);
};

/**
 * Sorted by a key, computed once for each entry; entries whose key is
 * missing or broken come last, in their given order.
 */
function sortedBy<Key>(
  branches: readonly Branch[],
  keyOf: (branch: Branch) => Key | null,
  compare: (one: Key, other: Key) => number,
): Branch[] {
  const keyed = branches.map((branch) => ({ branch, key: nullOnError(() => keyOf(unwrap(branch))) }));
  return keyed
    .sort((one, other) => {
      if (one.key === null || other.key === null)
        return Number(one.key === null) - Number(other.key === null);
      return compare(one.key, other.key);
    })
    .map(({ branch }) => branch);
}
