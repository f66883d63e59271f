import type { Spread } from './statistics.ts';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_cell, index) => (index === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** Three significant digits, and no fraction from a hundred on. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** The median, with the least and the greatest. */
export const ratioSpread = (spread: Spread | null): string =>
  spread === null
    ? '–'
    : `${spread.median.toFixed(2)} (${spread.low.toFixed(2)} to ${spread.high.toFixed(2)})`;
