import type { Measured } from '../sections/interleave.ts';
import type { MemoryResult } from '../sections/memory.ts';
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
function against(what: string, need: 'ahead' | 'level', spread: Spread | null): Goal {
  const is = spread && standing(spread);
  return {
    what: `${what}, processor time divided by that of mercurius + JIT`,
    need,
    measured: is === null ? '–' : `${is}: ${ratioSpread(spread)}`,
    isMet: is === null ? null : is === 'ahead' || is === need,
  };
}

/** Memory of the last third of the time divided by that of the second: before, a process is warming up. */
function growthOf({ samples }: MemoryResult): number {
  const third = Math.floor(samples.length / 3);
  return medianOf(samples.slice(-third)) / medianOf(samples.slice(third, 2 * third));
}

function goalsOf({ a, b, c, e, g, h }: Results): Goal[] {
  const time = (what: string, need: number, spread: Spread | null) =>
    bounded(`${what}, processor time divided by the limit's`, 'at most', need, spread);
  const memory = e && {
    most: Math.max(...e.samples),
    growth: growthOf(e),
    tail: e.p99Ms / e.p50Ms,
    idle: e.idleMb,
    pause: e.longestPauseMs,
  };
  return [
    time('Q1', 1.2, cpuRatio(a, 'limit', 'q1')),
    time('Q2', 1.3, cpuRatio(a, 'limit', 'q2')),
    time('Q3', 1.15, cpuRatio(a, 'limit', 'q3')),
    time('Q4', 1.25, cpuRatio(a, 'limit', 'q4')),
    time('1,000 branches', 1.4, cpuRatio(c, 'limit', 'q1', 1000)),
    time('5,000 branches', 1.4, cpuRatio(c, 'limit', 'q1', 5000)),
    time('100 accounts', 1.4, cpuRatio(c, 'limit', 'q2', 100)),
    against('Q1', 'ahead', cpuRatio(a, 'mercurius', 'q1')),
    against('Q2', 'ahead', cpuRatio(a, 'mercurius', 'q2')),
    against('Q3', 'level', cpuRatio(a, 'mercurius', 'q3')),
    against('Q4', 'ahead', cpuRatio(a, 'mercurius', 'q4')),
    against('5,000 branches', 'ahead', cpuRatio(c, 'mercurius', 'q1', 5000)),
    against('100 accounts', 'ahead', cpuRatio(c, 'mercurius', 'q2', 100)),
    bounded(
      'Q1, unchanged bodies: requests per second divided by the limit’s',
      'at least',
      1.2,
      ratioOf(find(b, 'bankql', 'q1'), find(b, 'limit', 'q1')),
    ),
    bounded('p99 divided by p50, Q2, 64 connections', 'at most', 1.5, memory?.tail),
    bounded('memory under that load', 'at most', 250, memory?.most, ' MB'),
    bounded('that memory at the end divided by that of the middle', 'at most', 1.05, memory?.growth),
    bounded('memory of 10,000 idle connections', 'at most', 150, memory?.idle, ' MB'),
    bounded('start to first answer, nothing compiled', 'at most', 1500, g && medianOf(g.first.answer), ' ms'),
    bounded('the same after an earlier start', 'at most', 1500, g && medianOf(g.again.answer), ' ms'),
    ...(h ?? []).map(({ title, processes, workers }) =>
      bounded(
        `${title}: throughput of two workers divided by that of one, by the processor time of two workers and of two processes`,
        'at least',
        1.8,
        (2 * processes) / workers,
      ),
    ),
  ];
}

const verdictOf = ({ isMet }: Goal) => (isMet === null ? 'not measured' : isMet ? 'met' : '**not met**');

/** The goals beside what was measured. */
export const goalsTable = (results: Results): string =>
  table(
    ['goal', 'needed', 'measured', ''],
    goalsOf(results).map((goal) => [goal.what, goal.need, goal.measured, verdictOf(goal)]),
  );
