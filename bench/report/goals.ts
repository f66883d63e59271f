import type { Measured } from '../sections/interleave.ts';
import type { MemoryResult } from '../sections/memory.ts';
import type { Results } from '../sections/results.ts';
import { number, ratio, table } from './markdown.ts';
import { find, medianOf, ratioOf } from './statistics.ts';

/** What was set out to reach. */
interface Goal {
  readonly what: string;
  readonly bound: 'at least' | 'at most';
  readonly need: number;
  /** Null where it was not measured. */
  readonly measured: number | null;
  readonly unit?: string;
}

const atLeast = (what: string, need: number, measured: number | null | undefined): Goal => ({
  what,
  bound: 'at least',
  need,
  measured: measured ?? null,
});
const atMost = (what: string, need: number, measured: number | null | undefined, unit = ''): Goal => ({
  what,
  bound: 'at most',
  need,
  measured: measured ?? null,
  unit,
});

/** bankql's requests per second against another's. */
const against = (measured: readonly Measured[] | undefined, name: string, shape: string) =>
  ratioOf(find(measured, 'bankql', shape), find(measured, name, shape))?.median;

/** How many times as fast as each peer. */
const peers = [
  { name: 'tailcall', title: 'Tailcall', q1: 3.4, q2: 4.5 },
  { name: 'mercurius', title: 'mercurius + JIT', q1: 1.3, q2: 1.35 },
  { name: 'apollo', title: 'Apollo Server', q1: 4, q2: 6 },
  { name: 'hive-gateway', title: 'Hive Gateway', q1: 5.5, q2: 15 },
  { name: 'openapi-to-graphql', title: 'openapi-to-graphql', q1: 3, q2: 8 },
] as const;

const growth = [
  { shape: 'q1', size: 10, what: '10 branches' },
  { shape: 'q1', size: 1000, what: '1,000 branches' },
  { shape: 'q1', size: 5000, what: '5,000 branches' },
  { shape: 'q2', size: 1, what: '1 account' },
  { shape: 'q2', size: 100, what: '100 accounts' },
] as const;

/** Memory of the last third of the time against that of the second: before, a process is warming up. */
function growthOf({ samples }: MemoryResult): number {
  const third = Math.floor(samples.length / 3);
  return medianOf(samples.slice(-third)) / medianOf(samples.slice(third, 2 * third));
}

function goalsOf({ a, b, c, e, g }: Results): Goal[] {
  const cpu = (shape: string, size: number) =>
    ratioOf(find(c, 'bankql', shape, size), find(c, 'limit', shape, size), ({ cpuUs }) => cpuUs)?.median;
  return [
    atLeast('A. Q1 against the limit', 0.85, against(a, 'limit', 'q1')),
    atLeast('A. Q2 against the limit', 0.9, against(a, 'limit', 'q2')),
    atLeast('A. Q3 against the limit', 0.8, against(a, 'limit', 'q3')),
    ...peers.flatMap(({ name, title, q1, q2 }) => [
      atLeast(`A. Q1 against ${title}`, q1, against(a, name, 'q1')),
      atLeast(`A. Q2 against ${title}`, q2, against(a, name, 'q2')),
    ]),
    atLeast('B. Q1 against the limit', 2.5, against(b, 'limit', 'q1')),
    atLeast('B. Q2 against the limit', 1.4, against(b, 'limit', 'q2')),
    ...growth.map(({ shape, size, what }) =>
      atMost(`C. processor time against the limit's, ${what}`, 1.3, cpu(shape, size)),
    ),
    atMost('E. memory at the end against that of the middle', 1.05, e && growthOf(e)),
    atMost('E. memory', 350, e && Math.max(...e.samples), ' MB'),
    atMost('E. p99 against p50, 64 connections', 2.5, e && e.p99Ms / e.p50Ms),
    atMost('G. start to first answer', 1500, g && medianOf(g.firstAnswerMs), ' ms'),
  ];
}

function verdict({ bound, need, measured }: Goal): string {
  if (measured === null || Number.isNaN(measured)) return 'not measured';
  return (bound === 'at least' ? measured >= need : measured <= need) ? 'met' : 'not met';
}

/** The goals beside what was measured. */
export function goalsTable(results: Results): string {
  const rows = goalsOf(results).map((goal) => {
    const { what, bound, need, measured, unit = '' } = goal;
    const value = measured === null ? '–' : `${need < 100 ? ratio(measured) : number(measured)}${unit}`;
    return [what, `${bound} ${number(need)}${unit}`, value, verdict(goal)];
  });
  return table(['goal', 'needed', 'measured', ''], rows);
}
