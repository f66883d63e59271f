import type { Measured } from '../sections/interleave.ts';
import type { LatencyResult } from '../sections/latency.ts';
import type { MemoryResult } from '../sections/memory.ts';
import type { Results } from '../sections/results.ts';
import type { StartResult } from '../sections/start.ts';
import { titleOf } from '../shapes.ts';
import { number, ratio, ratioSpread, table } from './markdown.ts';
import { peersTables } from './peers.ts';
import { bankqlOf, distinct, limitOf, medianOf, ratioOf } from './statistics.ts';

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
    ['A. Nothing reused', a && peersTables(a)],
    ['B. The bank’s bodies are the same bytes each time', b && pair(b)],
    ['C. How the cost grows', c && growth(c)],
    ['D. All callers share credentials and ask the same', d && pair(d)],
    ['E. Memory under load, and how evenly it answers', e && memory(e)],
    ['F. Latency added', f && latency(f)],
    ['G. Start', g && start(g)],
  ];
  return sections.flatMap(([title, text]) => (text === undefined ? [] : [`### ${title}`, text])).join('\n\n');
}
