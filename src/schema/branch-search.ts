import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/answer.ts';
import type { Branch, BranchQuery } from '../contract/branch.ts';
import { badUserInput } from '../errors.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import type { ListWork } from './list-work.ts';
import { nullOnError } from './plugin/field-extensions.ts';
import { omitNullish } from './request-body.ts';
import { containsFolded, foldSearch } from './text-search.ts';

/** Branches are searched by bankql, because the bank's interface supports neither distances nor parts of a name. */

type Near = BranchSearch['near'];
type Coordinates = Pick<NonNullable<Near>, 'latitude' | 'longitude'>;

/** The mean radius of the earth (IUGG), in kilometres. */
const earthRadiusKm = 6371.0088;

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** The great-circle distance between two positions, in kilometres (haversine formula). */
export function distanceKm(from: Coordinates, to: Coordinates): number {
  const latitudes = Math.sin(radians(to.latitude - from.latitude) / 2) ** 2;
  const longitudes = Math.sin(radians(to.longitude - from.longitude) / 2) ** 2;
  const haversine =
    latitudes + Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude)) * longitudes;
  // For antipodal points, rounding can make the value greater than 1, for which asin is NaN.
  return 2 * earthRadiusKm * Math.asin(Math.sqrt(Math.min(1, haversine)));
}

/** Errors: BAD_USER_INPUT, which names the member. */
function checkCoordinates(name: string, { latitude, longitude }: Coordinates): void {
  if (!(Math.abs(latitude) <= 90))
    throw badUserInput(`${name}.latitude has to be from -90 to 90.`, `${name}.latitude`);
  if (!(Math.abs(longitude) <= 180))
    throw badUserInput(`${name}.longitude has to be from -180 to 180.`, `${name}.longitude`);
}

/**
 * The distance from a place to a branch in kilometres; null if the branch has no location on the earth.
 * Errors: BANK_BAD_RESPONSE if its location breaks the contract.
 */
function distanceOf({ location }: Branch, from: Coordinates): number | null {
  const given = unwrap(location);
  if (!given) return null;
  const [latitude, longitude] = [unwrap(given.latitude), unwrap(given.longitude)];
  if (typeof longitude !== 'number' || Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return null;
  return distanceKm(from, { latitude, longitude });
}

/** The distance of a list's entry from `near`; null without `near`. Errors: those of distanceOf; the error in place of the entry. */
export const distanceTo = (near: Near, entry: { readonly record: Branch } | Error): number | null =>
  near ? distanceOf(unwrap(entry).record, near) : null;

const NearInput = builder.inputType('NearInput', {
  description: 'The surroundings of a place.',
  fields: (t) => ({
    latitude: t.float({ required: true, description: 'In degrees, from -90 to 90.' }),
    longitude: t.float({ required: true, description: 'In degrees, from -180 to 180.' }),
    radiusKm: t.float({ description: 'The maximum distance in kilometres; none by default.' }),
  }),
});

const BranchFilter = builder.inputType('BranchFilter', {
  description: 'A filter on branches, which the bank applies.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id to look for.' }),
    name: t.string({ description: 'The name to look for.' }),
  }),
});

/** The arguments of a list of branches. */
export const branchSearch = builder.args((t) => ({
  filter: t.field({ type: BranchFilter, description: 'Only branches with this id and this name.' }),
  near: t.field({
    type: NearInput,
    description: 'The nearest first, and only those within the radius, if there is one.',
  }),
  search: t.string({
    description: 'Only those with this text in the name; case and accents make no difference.',
  }),
}));

export type BranchSearch = InputShapeFromFields<typeof branchSearch>;

/** The query for the bank; null for all branches. */
export const branchQueryOf = ({ filter }: BranchSearch): BranchQuery | null =>
  filter ? omitNullish({ id: filter.id, name: filter.name }) : null;

/**
 * Creates the function that searches the bank's list; null if the list is used unchanged. An entry does not match if a value
 * that the search examines breaks the contract.
 * Errors: BAD_USER_INPUT for an invalid place or radius, and for a text that is too long.
 */
export function branchSelection({
  filter,
  near,
  search,
}: BranchSearch): ((list: readonly Branch[], lists: ListWork) => Promise<Branch[]>) | null {
  if (near) checkCoordinates('near', near);
  if (typeof near?.radiusKm === 'number' && !(near.radiusKm >= 0))
    throw badUserInput('near.radiusKm has to be zero or more.', 'near.radiusKm');
  const text = foldSearch(search);
  if (!near && text === null) return null;
  const name = ['branches', filter?.id, filter?.name, near, text];
  return (list, lists) => lists.select(list, name, () => select(list, near, text));
}

function select(list: readonly Branch[], near: Near, text: string | null): Branch[] {
  const named =
    text === null
      ? [...list]
      : list.filter((branch) => !(branch instanceof Error) && containsFolded(branch.name, text));
  if (!near) return named;
  const { radiusKm } = near;
  return (
    named
      .map((branch) => ({ branch, km: nullOnError(() => distanceOf(unwrap(branch), near)) ?? Infinity }))
      .filter(({ km }) => typeof radiusKm !== 'number' || km <= radiusKm)
      // For two branches without a location, the difference is NaN, which counts as 0.
      .toSorted((one, other) => one.km - other.km)
      .map(({ branch }) => branch)
  );
}

/** The branches that a search finds. Errors: BAD_USER_INPUT. */
export function findBranches(
  { bankId }: BankIds,
  args: BranchSearch,
  { session, lists }: ReadContext,
): Promise<readonly Branch[]> {
  const select = branchSelection(args);
  const query = branchQueryOf(args);
  const { branches, postBranches } = session.loaders;
  const listed = query === null ? branches.load({ bankId }) : postBranches.load({ bankId, query });
  return select === null ? listed : listed.then((list) => select(list, lists));
}
