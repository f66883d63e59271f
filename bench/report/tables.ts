import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';
import type { MemoryResult } from '../sections/memory.ts';
import type { Results } from '../sections/results.ts';
import type { StartResult } from '../sections/start.ts';
import { type Shape, titleOf } from '../shapes.ts';
import { number, ratio, ratioSpread, table } from './markdown.ts';
import { distinct, limitOf, medianOf, ratioOf } from './statistics.ts';

const contendersOf = (measured: readonly Measured[]) => distinct(measured.map(({ contender }) => contender));
const shapesOf = (measured: readonly Measured[]) => distinct(measured.map(({ shape }) => shape));
const middle = (measured: Measured | undefined, figure: (round: Round) => number) =>
  number(medianOf(measured?.rounds.map(figure) ?? []));

/** A figure divided by the limit's: a row for each contender, a column for each shape. */
function ratioTable(measured: readonly Measured[], figure: (round: Round) => number): string {
  const shapes = shapesOf(measured);
  const rows = contendersOf(measured).map((contender) => [
    contender.title,
    ...shapes.map((shape) =>
      ratioSpread(
        ratioOf(
          measured.find((each) => each.contender === contender && each.shape === shape),
          limitOf(measured, shape),
          figure,
        ),
      ),
    ),
  ]);
  return table(['', ...shapes.map(titleOf)], rows);
}

/** The table of docs/performance.md. */
export const timeTable = (measured: readonly Measured[]): string =>
  ratioTable(measured, ({ cpuUs }) => cpuUs);
function detailTable(measured: readonly Measured[], shape: Shape): string {
  const rows = measured
    .filter((each) => each.shape === shape)
    .map((each) => {
      const { contender, rounds, failure } = each;
      const title =
        failure === null ? contender.title : `${contender.title}: ${failure.what}: ${failure.reason}`;
      if (rounds.length === 0) return [title, ...Array(7).fill('')];
      return [
        title,
        middle(each, (round) => round.requestsPerSecond),
        middle(each, (round) => round.cpuUs),
        middle(each, (round) => round.p50Ms),
        middle(each, (round) => round.p99Ms),
        middle(each, (round) => round.rssMb),
        number(Math.max(...rounds.map((round) => round.peakMb))),
        middle(each, (round) => round.callsPerRequest),
      ];
    });
  const head = ['requests/s', 'CPU µs', 'p50 ms', 'p99 ms', 'RSS MB', 'peak MB', 'REST calls'];
  return table([titleOf(shape), ...head], rows);
}

const details = (measured: readonly Measured[]): string =>
  shapesOf(measured)
    .map((shape) => detailTable(measured, shape))
    .join('\n\n');

const growth = (measured: readonly Measured[]): string => {
  const contenders = contendersOf(measured);
  return table(
    [
      'CPU µs per request',
      ...contenders.map(({ title }) => title),
      ...contenders.slice(1).map(({ title }) => `${title} / limit`),
    ],
    shapesOf(measured).map((shape) => {
      const each = contenders.map((contender) =>
        measured.find((one) => one.contender === contender && one.shape === shape),
      );
      const time = (round: Round) => round.cpuUs;
      return [
        titleOf(shape),
        ...each.map((one) => one?.failure?.reason ?? middle(one, time)),
        ...each.slice(1).map((one) => ratioSpread(ratioOf(one, each[0], time))),
      ];
    }),
  );
};

const memory = ({ seconds, samples, p50Ms, p99Ms, ...more }: MemoryResult): string =>
  table(
    [`Q2, ${seconds} s, 64 connections`, ''],
    [
      ['RSS after the first second, MB', number(samples[0] ?? Number.NaN)],
      ['RSS at the end, MB', number(samples.at(-1) ?? Number.NaN)],
      ['RSS at most, MB', number(Math.max(...samples))],
      ['p50, ms', number(p50Ms)],
      ['p99, ms', number(p99Ms)],
      ['p99 / p50', ratio(p99Ms / p50Ms)],
      ['garbage collections per second', number(more.pausesPerSecond)],
      ['garbage collection, % of the time', number(more.pausedShare * 100)],
      ['longest pause, ms', number(more.longestPauseMs)],
      [
        `RSS of ${number(more.idleConnections)} idle connections after a garbage collection, MB`,
        number(more.idleMb),
      ],
    ],
  );

const start = ({ first, again }: StartResult): string =>
  table(
    ['from the start of the process', 'median ms', 'most ms'],
    [
      ['first start, to the first answer', ...spread(first.answer)],
      ['first start, to the first answer with data', ...spread(first.data)],
      ['later start, to the first answer', ...spread(again.answer)],
      ['later start, to the first answer with data', ...spread(again.data)],
    ],
  );

const spread = (sorted: readonly number[]) => [number(medianOf(sorted)), number(sorted.at(-1) ?? Number.NaN)];

/** What docs/performance.md leaves out, as Markdown. */
export function detailsOf({ a, b, c, d }: Results): string {
  const sections: [string, string | undefined][] = [
    ['A. Four queries', a && details(a)],
    ['B. How the cost grows', b && growth(b)],
    ['C. Memory under load, and how evenly it answers', c && memory(c)],
    ['D. Start', d && start(d)],
  ];
  return sections.flatMap(([title, text]) => (text === undefined ? [] : [`### ${title}`, text])).join('\n\n');
}
