import type { Round } from '../measure.ts';
import type { Measured } from '../sections/interleave.ts';
import { type Shape, titleOf } from '../shapes.ts';
import { number, ratioSpread, table } from './markdown.ts';
import { distinct, limitOf, medianOf, ratioOf } from './statistics.ts';

/** A figure against the limit's: a row for each contender, a column for each shape. */
function ratioTable(measured: readonly Measured[], title: string, figure: (round: Round) => number): string {
  const shapes = distinct(measured.map(({ shape }) => shape));
  const rows = distinct(measured.map(({ contender }) => contender)).map((contender) => [
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
  return table([title, ...shapes.map(titleOf)], rows);
}

function detailTable(measured: readonly Measured[], shape: Shape): string {
  const rows = measured
    .filter((each) => each.shape === shape)
    .map(({ contender, rounds, failure }) => {
      const title =
        failure === null ? contender.title : `${contender.title}: ${failure.what}: ${failure.reason}`;
      if (rounds.length === 0) return [title, ...Array(7).fill('')];
      const middle = (figure: (round: Round) => number) => number(medianOf(rounds.map(figure)));
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

/** What tells whether the figures are worth something: the load was fast enough, and nobody else was there. */
function circumstances(measured: readonly Measured[]): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const rounds = measured.flatMap((each) => each.rounds);
  const busiest = Math.max(...rounds.map(({ loadBusy }) => loadBusy));
  const others = rounds.map(({ othersBusy }) => othersBusy);
  return `The load and the bank took at most ${percent(busiest)} of their core; of both cores, others took ${percent(medianOf(others))} (at most ${percent(Math.max(...others))}).`;
}

/** Section A: the contenders against the limit, and the figures of each shape. */
export const peersTables = (measured: readonly Measured[]): string =>
  [
    ratioTable(measured, 'requests a second, the limit = 1', ({ requestsPerSecond }) => requestsPerSecond),
    ratioTable(measured, 'processor time a request, the limit = 1', ({ cpuUs }) => cpuUs),
    ...distinct(measured.map(({ shape }) => shape)).map((shape) => detailTable(measured, shape)),
    circumstances(measured),
  ].join('\n\n');
