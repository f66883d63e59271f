import type { Measured } from '../sections/interleave.ts';
import type { Results } from '../sections/results.ts';
import { number, ratio, ratioSpread, table } from './markdown.ts';
import { find, medianOf, ratioOf, type Spread, standing } from './statistics.ts';

/** A goal, what was measured, and whether that meets it; null if it was not measured. */
interface Goal {
  readonly what: string;
  readonly need: string;
  readonly measured: string;
  readonly isMet: boolean | null;
}

function bounded(
  what: string,
  bound: 'at least' | 'at most',
  need: number,
  measured: number | Spread | null | undefined,
  unit = '',
): Goal {
  const value = typeof measured === 'object' ? (measured?.median ?? Number.NaN) : (measured ?? Number.NaN);
  const text =
    typeof measured === 'object' ? ratioSpread(measured) : need < 10 ? ratio(value) : number(value);
  return {
    what,
    need: `${bound} ${number(need)}${unit}`,
    measured: Number.isNaN(value) ? '–' : `${text}${unit}`,
    isMet: Number.isNaN(value) ? null : bound === 'at least' ? value >= need : value <= need,
  };
}

const cpuUs = ({ cpuUs }: { readonly cpuUs: number }) => cpuUs;
const cpuRatio = (measured: readonly Measured[] | undefined, other: string, shape: string, size?: number) =>
  ratioOf(find(measured, 'bankql', shape, size), find(measured, other, shape, size), cpuUs);

/** "Ahead" and "behind" only if the whole interval says so. */
function against(what: string, spread: Spread | null): Goal {
  const is = spread && standing(spread);
  return {
    what: `${what}, processor time divided by that of mercurius + JIT`,
    need: 'level or ahead',
    measured: is === null ? '–' : `${is}: ${ratioSpread(spread)}`,
    isMet: is === null ? null : is !== 'behind',
  };
}

function goalsOf({ a, b, c, d }: Results): Goal[] {
  const time = (what: string, need: number, spread: Spread | null) =>
    bounded(`${what}, processor time divided by the limit's`, 'at most', need, spread);
  return [
    time('Q1', 1.25, cpuRatio(a, 'limit', 'q1')),
    time('Q2', 1.4, cpuRatio(a, 'limit', 'q2')),
    time('Q3', 2.2, cpuRatio(a, 'limit', 'q3')),
    time('Q4', 1.3, cpuRatio(a, 'limit', 'q4')),
    time('5,000 branches', 1.35, cpuRatio(b, 'limit', 'q1', 5000)),
    time('100 accounts', 1.9, cpuRatio(b, 'limit', 'q2', 100)),
    against('Q1', cpuRatio(a, 'mercurius', 'q1')),
    against('Q2', cpuRatio(a, 'mercurius', 'q2')),
    against('Q4', cpuRatio(a, 'mercurius', 'q4')),
    bounded('memory under the load of Q2', 'at most', 300, c && Math.max(...c.samples), ' MB'),
    bounded('p99 divided by p50, Q2, 64 connections', 'at most', 1.5, c && c.p99Ms / c.p50Ms),
    bounded('memory of 10,000 idle connections', 'at most', 150, c?.idleMb, ' MB'),
    bounded('start to first answer, nothing compiled', 'at most', 1500, d && medianOf(d.first.answer), ' ms'),
  ];
}

const verdictOf = ({ isMet }: Goal) => (isMet === null ? 'not measured' : isMet ? 'met' : '**not met**');

/** The goals beside what was measured. */
export const goalsTable = (results: Results): string =>
  table(
    ['goal', 'needed', 'measured', ''],
    goalsOf(results).map((goal) => [goal.what, goal.need, goal.measured, verdictOf(goal)]),
  );
