import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';
import type { LatencyResult } from '../sections/latency.ts';
import type { MemoryResult } from '../sections/memory.ts';
import type { Results } from '../sections/results.ts';
import type { SessionResult } from '../sections/session.ts';
import type { StartResult } from '../sections/start.ts';
import type { WorkersResult } from '../sections/workers.ts';
import { type Shape, titleOf } from '../shapes.ts';
import { number, ratio, ratioSpread, table } from './markdown.ts';
import { bankqlOf, distinct, limitOf, medianOf, ratioOf } from './statistics.ts';

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

/** The tables of docs/performance.md. */
export const timeTable = (measured: readonly Measured[]): string =>
  ratioTable(measured, ({ cpuUs }) => cpuUs);
export const throughputTable = (measured: readonly Measured[]): string =>
  ratioTable(measured, ({ requestsPerSecond }) => requestsPerSecond);

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

const pair = (measured: readonly Measured[]): string =>
  table(
    ['', 'the limit, requests/s', 'bankql, requests/s', 'bankql / limit', 'bankql, REST calls'],
    shapesOf(measured).map((shape) => {
      const [one, other] = [limitOf(measured, shape), bankqlOf(measured, shape)];
      return [
        titleOf(shape),
        middle(one, (round) => round.requestsPerSecond),
        other?.failure?.reason ?? middle(other, (round) => round.requestsPerSecond),
        ratioSpread(ratioOf(other, one)),
        middle(other, (round) => round.callsPerRequest),
      ];
    }),
  );

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

const latency = (results: readonly LatencyResult[]): string =>
  table(
    ['ms beyond the longest chain of calls', 'bank’s delay, ms', 'median', 'most'],
    results.map(({ contender, shape, delayMs, overheadsMs }) => [
      `${contender.title}, ${titleOf(shape)}`,
      String(delayMs),
      number(medianOf(overheadsMs)),
      number(overheadsMs.at(-1) ?? Number.NaN),
    ]),
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

const workers = (results: readonly WorkersResult[]): string =>
  table(
    ['CPU µs per request', 'two processes', 'two workers', 'throughput of two workers / one'],
    results.map(({ title, processes, workers }) => [
      title,
      number(processes),
      number(workers),
      ratio((2 * processes) / workers),
    ]),
  );

const session = ({ rows, screens, reads, distinctReads }: SessionResult): string =>
  [
    `${distinctReads} of the session’s ${reads} reads by GET differ. A cache that starts empty makes at least those.`,
    table(
      [
        '14 screens, without the receipt, 50 ms per REST call',
        'REST calls',
        'KB from the bank',
        'ms per screen',
      ],
      rows.map(({ title, total }) =>
        typeof total === 'string'
          ? [`${title}: ${total}`, '', '', '']
          : [title, number(total.calls), number(total.bytes / 1024), number(total.ms / (screens.length - 1))],
      ),
    ),
    table(
      ['bankql, by screen', 'REST calls', 'bytes', 'ms'],
      screens.map(({ name, calls, bytes, ms }) => [name, String(calls), number(bytes), number(ms)]),
    ),
  ].join('\n\n');

/** What docs/performance.md leaves out, as Markdown. */
export function detailsOf({ a, b, c, d, e, f, g, h, i }: Results): string {
  const sections: [string, string | undefined][] = [
    ['A. Nothing reused', a && details(a)],
    ['B. The bank’s bodies are the same bytes each time', b && pair(b)],
    ['C. How the cost grows', c && growth(c)],
    ['D. All callers share credentials and ask the same', d && pair(d)],
    ['E. Memory under load, and how evenly it answers', e && memory(e)],
    ['F. Latency added', f && latency(f)],
    ['G. Start', g && start(g)],
    ['H. Two workers', h && workers(h)],
    ['I. A session', i && session(i)],
  ];
  return sections.flatMap(([title, text]) => (text === undefined ? [] : [`### ${title}`, text])).join('\n\n');
}
