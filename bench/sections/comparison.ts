import type { Bench } from '../bench.ts';
import { bankql, type Contender, contenders, limit, raisedLimits } from '../contenders.ts';
import { accountCounts, branchCounts, q1, q2, shapes } from '../shapes.ts';
import { interleave, type Measured } from './interleave.ts';

/** Sections A and B. */

const closest: readonly Contender[] = [
  limit,
  bankql,
  ...contenders.filter(({ name }) => name === 'mercurius'),
];

const chosen = (bench: Bench, names: readonly string[]) =>
  shapes.filter(({ name }) => names.includes(name) && (bench.options.shapes?.has(name) ?? true));

/** A: every contender, every shape; no two bodies of the bank are the same bytes. */
export const measurePeers = (bench: Bench): Promise<Measured[]> =>
  interleave(bench, {
    contenders: contenders.filter(
      ({ name }) => name === limit.name || (bench.options.only?.has(name) ?? true),
    ),
    shapes: chosen(bench, ['q1', 'q2', 'q3', 'q4']),
  });

/** Few, so that what is measured is the work of an answer and no queue. */
const growthConnections = 8;

/** B: longer lists, and more accounts. */
export const measureGrowth = (bench: Bench): Promise<Measured[]> =>
  interleave(bench, {
    contenders: closest,
    shapes: [...branchCounts.map(q1), ...accountCounts.map(q2)].filter(
      ({ name }) => bench.options.shapes?.has(name) ?? true,
    ),
    round: { connections: growthConnections },
    environment: (contender) => (contender === bankql ? raisedLimits : {}),
  });
