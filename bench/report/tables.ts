import { bankql, limit } from '../contenders.ts';
import type { Measured } from '../sections/interleave.ts';
import type { LatencyResult } from '../sections/latency.ts';
import type { MemoryResult } from '../sections/memory.ts';
import type { Results } from '../sections/results.ts';
import type { StartResult } from '../sections/start.ts';
import { type Shape, titleOf } from '../shapes.ts';
import { number, ratio, ratioSpread, table } from './markdown.ts';
import { medianOf, ratioOf } from './statistics.ts';

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];
const limitOf = (measured: readonly Measured[], shape: Shape) =>
  measured.find((each) => each.contender === limit && each.shape === shape);
const bankqlOf = (measured: readonly Measured[], shape: Shape) =>
  measured.find((each) => each.contender === bankql && each.shape === shape);

/** Requests per second as a part of the limit's: a row for each contender, a column for each shape. */
function ratioTable(measured: readonly Measured[]): string {
  const shapes = distinct(measured.map(({ shape }) => shape));
  const rows = distinct(measured.map(({ contender }) => contender)).map((contender) => [
    contender.title,
    ...shapes.map((shape) =>
      ratioSpread(
        ratioOf(
          measured.find((each) => each.contender === contender && each.shape === shape),
          limitOf(measured, shape),
        ),
      ),
    ),
  ]);
  return table(['requests a second, the limit = 1', ...shapes.map(titleOf)], rows);
}

function detailTable(measured: readonly Measured[], shape: Shape): string {
  const rows = measured
    .filter((each) => each.shape === shape)
    .map(({ contender, rounds, failure }) => {
      const title =
        failure === null ? contender.title : `${contender.title}: ${failure.what}: ${failure.reason}`;
      if (rounds.length === 0) return [title, ...Array(7).fill('')];
      const middle = (figure: (round: (typeof rounds)[number]) => number) =>
        number(medianOf(rounds.map(figure)));
      return [
        title,
        middle((round) => round.requestsPerSecond),
        middle((round) => round.cpuUs),
        middle((round) => round.p50Ms),
        middle((round) => round.p99Ms),
        middle((round) => round.rssMb),
        number(Math.max(...rounds.map((round) => round.peakMb))),
        middle((round) => round.callsPerRequest),
      ];
    });
  const head = ['requests/s', 'CPU µs', 'p50 ms', 'p99 ms', 'RSS MB', 'peak MB', 'REST calls'];
  return table([titleOf(shape), ...head], rows);
}

function busiest(measured: readonly Measured[]): string {
  const busy = Math.max(...measured.flatMap(({ rounds }) => rounds.map(({ loadBusy }) => loadBusy)));
  return `The load and the bank took at most ${Math.round(busy * 100)} % of their core.`;
}

const peers = (measured: readonly Measured[]): string =>
  [
    ratioTable(measured),
    ...distinct(measured.map(({ shape }) => shape)).map((shape) => detailTable(measured, shape)),
    busiest(measured),
  ].join('\n\n');

const pair = (measured: readonly Measured[]): string =>
  table(
    ['', 'the limit, requests/s', 'bankql, requests/s', 'bankql / limit', 'bankql, REST calls'],
    distinct(measured.map(({ shape }) => shape)).map((shape) => {
      const [one, other] = [limitOf(measured, shape), bankqlOf(measured, shape)];
      return [
        titleOf(shape),
        number(medianOf(one?.rounds.map((round) => round.requestsPerSecond) ?? [])),
        other?.failure?.reason ??
          number(medianOf(other?.rounds.map((round) => round.requestsPerSecond) ?? [])),
        ratioSpread(ratioOf(other, one)),
        number(medianOf(other?.rounds.map((round) => round.callsPerRequest) ?? [])),
      ];
    }),
  );

const growth = (measured: readonly Measured[]): string =>
  table(
    ['CPU µs a request', 'the limit', 'bankql', 'bankql / limit'],
    distinct(measured.map(({ shape }) => shape)).map((shape) => {
      const [one, other] = [limitOf(measured, shape), bankqlOf(measured, shape)];
      return [
        titleOf(shape),
        number(medianOf(one?.rounds.map((round) => round.cpuUs) ?? [])),
        other?.failure?.reason ?? number(medianOf(other?.rounds.map((round) => round.cpuUs) ?? [])),
        ratioSpread(ratioOf(other, one, ({ cpuUs }) => cpuUs)),
      ];
    }),
  );

const memory = ({ seconds, samples, p50Ms, p99Ms }: MemoryResult): string =>
  table(
    [`Q2, ${seconds} s, 64 connections`, ''],
    [
      ['RSS after the first second, MB', number(samples[0] ?? Number.NaN)],
      ['RSS at the end, MB', number(samples.at(-1) ?? Number.NaN)],
      ['RSS at most, MB', number(Math.max(...samples))],
      ['p50, ms', number(p50Ms)],
      ['p99, ms', number(p99Ms)],
      ['p99 / p50', ratio(p99Ms / p50Ms)],
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

const start = ({ firstAnswerMs, firstDataMs }: StartResult): string =>
  table(
    ['from the start of the process', 'median ms', 'most ms'],
    [
      ['to the first answer', number(medianOf(firstAnswerMs)), number(firstAnswerMs.at(-1) ?? Number.NaN)],
      [
        'to the first answer with data',
        number(medianOf(firstDataMs)),
        number(firstDataMs.at(-1) ?? Number.NaN),
      ],
    ],
  );

/** All that was measured, as Markdown. */
export function tablesOf({ a, b, c, d, e, f, g }: Results): string {
  const sections: [string, string | undefined][] = [
    ['A. Nothing reused', a && peers(a)],
    ['B. The bank’s bodies are the same bytes each time', b && pair(b)],
    ['C. How the cost grows', c && growth(c)],
    ['D. All callers share credentials and ask the same', d && pair(d)],
    ['E. Memory under load, and how evenly it answers', e && memory(e)],
    ['F. Latency added', f && latency(f)],
    ['G. Start', g && start(g)],
  ];
  return sections.flatMap(([title, text]) => (text === undefined ? [] : [`### ${title}`, text])).join('\n\n');
}
