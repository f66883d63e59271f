import { limit } from '../contenders.ts';
import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';
import type { Shape } from '../shapes.ts';

/** The median of a figure over the rounds, with its 95 % interval by bootstrap. */
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

const resamples = 2000;

/** Numbers in [0, 1) that are the same in every run (mulberry32): one set of rounds has one interval. */
function* randomNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    yield ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Null if there are no values. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const random = randomNumbers(values.length);
  const drawn = () => values[Math.floor(random.next().value * values.length)] ?? Number.NaN;
  const medians = Array.from({ length: resamples }, () => medianOf(values.map(drawn))).sort((a, b) => a - b);
  const at = (share: number) => medians[Math.round(share * (resamples - 1))] ?? Number.NaN;
  return { median: medianOf(values), low: at(0.025), high: at(0.975) };
}

/** How a cost compares with another, by the interval of their ratio. */
export const standing = ({ low, high }: Spread): 'ahead' | 'level' | 'behind' =>
  high < 1 ? 'ahead' : low > 1 ? 'behind' : 'level';

export const find = (measured: readonly Measured[] | undefined, name: string, shape: string, size?: number) =>
  measured?.find(
    (each) =>
      each.contender.name === name &&
      each.shape.name === shape &&
      (size === undefined || each.shape.size === size),
  );

/** A figure divided by another contender's of the same round, so that the machine's drift cancels out. */
export function ratioOf(
  one: Measured | undefined,
  other: Measured | undefined,
  figure: (round: Round) => number = ({ requestsPerSecond }) => requestsPerSecond,
): Spread | null {
  const ratios = (one?.rounds ?? []).flatMap((round, index) => {
    const against = other?.rounds[index];
    return against === undefined ? [] : [figure(round) / figure(against)];
  });
  return spreadOf(ratios);
}

export const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];

export const limitOf = (measured: readonly Measured[], shape: Shape) =>
  measured.find((each) => each.contender === limit && each.shape === shape);
