import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';

/** The median of a figure over the rounds, with the least and the greatest. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** Middle of a list; NaN if it is empty. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Null if there are no values. */
export const spreadOf = (values: readonly number[]): Spread | null =>
  values.length === 0
    ? null
    : { median: medianOf(values), low: Math.min(...values), high: Math.max(...values) };

/** How a cost compares with another: ahead or behind only if every round says so. */
export const standing = ({ low, high }: Spread): 'ahead' | 'level' | 'behind' =>
  high < 1 ? 'ahead' : low > 1 ? 'behind' : 'level';

export const find = (
  measured: readonly Measured[] | undefined,
  name: string,
  shape: string,
  size?: number | '',
) =>
  measured?.find(
    (each) =>
      each.contender.name === name &&
      each.shape.name === shape &&
      (size === undefined || each.shape.size === size),
  );

/** Processor time divided by another contender's of the same round, so that the machine's drift cancels out. */
export const ratioOf = (one: Measured | undefined, other: Measured | undefined): Spread | null =>
  spreadOf(
    (one?.rounds ?? []).flatMap(({ cpuUs }, index) => {
      const against: Round | undefined = other?.rounds[index];
      return against === undefined ? [] : [cpuUs / against.cpuUs];
    }),
  );
