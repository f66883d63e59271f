import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/response.ts';
import type { Branch, BranchQuery } from '../contract/branch.ts';
import { badUserInput } from '../errors.ts';
import { builder, type InputFields } from './builder.ts';
import { nullOnError } from './field-extensions.ts';
import { omitNullish } from './fields.ts';
import { notGlobalId } from './global-id.ts';
import { rememberPositions } from './list-item.ts';
import { type ListWork, sortedBy } from './list-work.ts';
import { comparedPart, foldText } from './text-search.ts';

/** Branches are filtered and sorted here: the bank's interface supports neither distances nor cities. */

type Coordinates = typeof CoordinatesInput.$inferInput;

/** The mean radius of the earth (IUGG), in kilometres. */
const earthRadiusKm = 6371.0088;

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** The great-circle distance between two positions, in kilometres (haversine formula). */
export function distanceKm(from: Coordinates, to: Coordinates): number {
  const latitudes = Math.sin(radians(to.latitude - from.latitude) / 2) ** 2;
  const longitudes = Math.sin(radians(to.longitude - from.longitude) / 2) ** 2;
  const haversine =
    latitudes + Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude)) * longitudes;
  // For antipodal points rounding can make it more than 1.
  return 2 * earthRadiusKm * Math.asin(Math.sqrt(Math.min(1, haversine)));
}

const isPlace = ({ latitude, longitude }: Coordinates) =>
  Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;

/** Errors: BAD_USER_INPUT. */
export function checkCoordinates(name: string, place: Coordinates): void {
  if (!isPlace(place))
    throw badUserInput(`${name} is no place: latitude is from -90 to 90, longitude from -180 to 180.`, name);
}

/** The position of a branch; null if it has none. Errors: BANK_BAD_RESPONSE if it breaks the contract. */
export function coordinatesOf({ location }: Branch): Coordinates | null {
  const given = unwrap(location);
  if (!given) return null;
  const [latitude, longitude] = [unwrap(given.latitude), unwrap(given.longitude)];
  if (typeof longitude !== 'number' || !isPlace({ latitude, longitude })) return null;
  return { latitude, longitude };
}

const coordinates = (t: InputFields) => ({
  latitude: t.float({ required: true, description: 'In degrees, from -90 to 90.' }),
  longitude: t.float({ required: true, description: 'In degrees, from -180 to 180.' }),
});

export const CoordinatesInput = builder.inputType('CoordinatesInput', {
  description: 'A place on the earth.',
  fields: coordinates,
});

const NearInput = builder.inputType('NearInput', {
  description: 'The surroundings of a place.',
  fields: (t) => ({
    ...coordinates(t),
    radiusKm: t.float({ description: 'The maximum distance in kilometres. No maximum if it is left out.' }),
  }),
});

const BranchOrder = builder.enumType('BranchOrder', {
  description: 'The order of branches. Branches without a name or a location come last.',
  values: {
    NAME: { description: 'By their names.' },
    DISTANCE: { description: 'The nearest to `near` first.' },
  },
});

const BranchFilter = builder.inputType('BranchFilter', {
  description:
    'Selects branches. With an id, the bank searches; with only a name, bankql searches the list. REST: postBranches, or getBranches.',
  fields: (t) => ({
    id: t.id({
      description:
        'The id to look for. REST `id`; if it is omitted, bankql looks for the name in the list of getBranches.',
    }),
    name: t.string({
      description:
        'The name to look for. REST `name`; without an id a part of the name, whatever its case, spaces and accents.',
    }),
  }),
});

/** The arguments of a list of branches. */
export const branchSearch = builder.args((t) => ({
  filter: t.field({
    type: BranchFilter,
    description: 'Only branches with this id, or with this text in their name.',
  }),
  near: t.field({
    type: NearInput,
    description: 'Only branches near a place. With a radius, branches without a location are left out.',
  }),
  orderBy: t.field({ type: BranchOrder, description: "The bank's own order if it is left out." }),
  acceptsDeposits: t.boolean({
    description: 'With true, only branches that accept deposits; with false, only the others.',
  }),
  city: t.string({ description: 'Only branches in this city. Case, spaces and accents do not matter.' }),
}));

export type BranchSearch = InputShapeFromFields<typeof branchSearch>;

/** The query for the bank; null for all branches. */
export function branchQueryOf({ filter }: BranchSearch): BranchQuery | null {
  if (filter?.id === null || filter?.id === undefined) return null;
  return omitNullish({ id: notGlobalId('filter.id', filter.id), name: filter.name });
}

// Made for the first query that needs it: what it is made of takes 14 ms to load.
let compareNames: Intl.Collator['compare'] | undefined;

/**
 * Creates the function that filters and sorts the bank's list; null if the list is used unchanged. An entry is not
 * considered a match if a value that the search examines breaks the contract.
 * Errors: BAD_USER_INPUT for an invalid position or radius, and for an order by distance without a position.
 */
export function branchSelection(
  search: BranchSearch,
): ((list: readonly Branch[], lists: ListWork) => Promise<Branch[]>) | null {
  const { near, orderBy } = search;
  if (near) checkCoordinates('near', near);
  if (typeof near?.radiusKm === 'number' && !(near.radiusKm >= 0))
    throw badUserInput('near.radiusKm has to be zero or more.', 'near.radiusKm');
  if (orderBy === 'DISTANCE' && !near)
    throw badUserInput('orderBy: DISTANCE needs near: the distance from where?', 'near');

  const conditions = conditionsOf(search);
  if (conditions.length === 0 && !orderBy) return null;
  const { filter, acceptsDeposits, city } = search;
  const name = JSON.stringify(['branches', filter?.id, filter?.name, near, orderBy, acceptsDeposits, city]);
  return (list, lists) => lists.once(list, name, () => select(list, conditions, search));
}

type Condition = (branch: Branch) => boolean;

function select(
  list: readonly Branch[],
  conditions: readonly Condition[],
  { near, orderBy }: BranchSearch,
): Branch[] {
  rememberPositions(list);
  const sorted = orderBy === 'NAME' ? byName(list) : list;
  const chosen = sorted.filter((branch) =>
    conditions.every((holds) => nullOnError(() => holds(unwrap(branch))) === true),
  );
  if (orderBy !== 'DISTANCE' || !near) return chosen;
  return sortedBy(
    chosen,
    (branch) => nullOnError(() => distanceTo(near, unwrap(branch))),
    (one, other) => one - other,
  );
}

function conditionsOf({ filter, near, acceptsDeposits, city }: BranchSearch) {
  const conditions: Condition[] = [];
  const hasId = filter?.id !== null && filter?.id !== undefined;
  if (!hasId && typeof filter?.name === 'string') {
    const name = foldText(filter.name);
    conditions.push((branch) => {
      const there = nameOf(branch);
      return there !== null && foldText(there).includes(name);
    });
  }
  if (typeof acceptsDeposits === 'boolean')
    conditions.push((branch) => branch.acceptsDeposits === acceptsDeposits);
  if (typeof city === 'string') {
    const name = foldText(city);
    conditions.push(({ address }) => {
      const there: unknown = address?.city;
      return typeof there === 'string' && foldText(there) === name;
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
  const known = listsByName.get(list);
  if (known !== undefined) return known;
  compareNames ??= new Intl.Collator('en', { numeric: true }).compare;
  const sorted = sortedBy(
    list,
    (branch) =>
      nullOnError(() => {
        const name = nameOf(unwrap(branch));
        return name === null ? null : comparedPart(name);
      }),
    compareNames,
  );
  listsByName.set(list, sorted);
  return sorted;
}

const nameOf = ({ name }: Branch): string | null => (typeof name === 'string' ? name : null);

const distanceTo = (from: Coordinates, branch: Branch): number | null => {
  const to = coordinatesOf(branch);
  return to && distanceKm(from, to);
};
