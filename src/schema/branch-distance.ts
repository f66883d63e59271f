import { unwrap } from '../bank/response.ts';
import type { Branch } from '../contract/branch.ts';
import { badUserInput } from '../errors.ts';

/** A position on the earth, in degrees. */
export interface Coordinates {
  readonly latitude: number;
  readonly longitude: number;
}

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
