import type { Measured } from '../sections/interleave.ts';

/** The median of a figure over the rounds, with the minimum and the maximum. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The median of a list; NaN if it is empty. */
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

/** The result of comparing two costs: ahead or behind only if every round says so. */
export const standing = ({ low, high }: Spread): 'ahead' | 'level' | 'behind' =>
  high < 1 ? 'ahead' : low > 1 ? 'behind' : 'level';

/**
 * A contender's processor time for a shape, divided by another contender's in the same round, so that changes
 * of the machine's speed cancel out. Null if one of the two was not measured.
 */
export function ratioOf(
  measured: readonly Measured[] = [],
  name: string,
  other: string,
  shape: string,
  size?: number | '',
) {
  const roundsOf = (who: string) =>
    measured.find(
      (each) =>
        each.contender.name === who &&
        each.shape.name === shape &&
        (size ?? each.shape.size) === each.shape.size,
    )?.rounds ?? [];
  const others = roundsOf(other);
  return spreadOf(
    roundsOf(name)
      .slice(0, others.length)
      .map(({ cpuUs }, index) => cpuUs / (others[index]?.cpuUs ?? Number.NaN)),
  );
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_cell, index) => (index === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** A number with three significant digits, and without a fraction from a hundred on. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** The median, with the minimum and the maximum. */
export const ratioSpread = (spread: Spread | null): string =>
  spread === null
    ? '–'
    : `${spread.median.toFixed(2)} (${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`;
