import { bankql, type Contender, limit } from '../contenders.ts';
import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';
import type { Shape } from '../shapes.ts';

/** A figure over the rounds. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Null where there is nothing. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((a, b) => a - b);
  const [least] = sorted;
  const most = sorted.at(-1);
  if (least === undefined || most === undefined) return null;
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? least) + (sorted[Math.ceil(middle)] ?? most)) / 2;
  return { median, least, most };
}

export const medianOf = (values: readonly number[]): number => spreadOf(values)?.median ?? Number.NaN;

export const find = (measured: readonly Measured[] | undefined, name: string, shape: string, size?: number) =>
  measured?.find(
    (each) =>
      each.contender.name === name &&
      each.shape.name === shape &&
      (size === undefined || each.shape.size === size),
  );

/** A figure of one against the other's of the same round, so that the machine's drift falls out. */
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

const ofContender = (wanted: Contender) => (measured: readonly Measured[], shape: Shape) =>
  measured.find((each) => each.contender === wanted && each.shape === shape);
export const limitOf = ofContender(limit);
export const bankqlOf = ofContender(bankql);
