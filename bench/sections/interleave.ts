import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import { bankql, type Contender, contenders, limit, raisedLimits } from '../contenders.ts';
import { askOnce } from '../load/fire.ts';
import type { Running } from '../load/process.ts';
import { measureRound, type Round } from '../measure.ts';
import { accountCounts, branchCounts, q1, q2, type Shape, shapes, titleOf } from '../shapes.ts';

/** The rounds of a contender with a shape. */
export interface Measured {
  readonly contender: Contender;
  readonly shape: Shape;
  readonly rounds: readonly Round[];
  /** Why rounds are missing; null if all rounds were measured. */
  readonly failure: string | null;
}

/**
 * The length of the warm-up before the first round of a shape, in seconds: V8 optimizes a server's functions during its first
 * thousands of requests. The warm-up before later rounds takes a part of a round.
 */
export const firstWarmUpSeconds = 3;
const laterWarmUp = 0.25;

/** Section A: every contender, every shape. */
export const measurePeers = (bench: Bench): Promise<Measured[]> =>
  interleave(bench, 64, [...bench.options.only], shapes);

/**
 * Section B: longer lists, and more accounts. It uses few connections, so that the work of an answer is measured and not a queue.
 */
export const measureGrowth = (bench: Bench): Promise<Measured[]> =>
  interleave(
    bench,
    8,
    ['limit', 'bankql', 'mercurius'],
    [...branchCounts.map(q1), ...accountCounts.map(q2)],
    raisedLimits,
  );

/**
 * Measures every contender with every shape, one contender after the other within each round, so that figures of the same round
 * can be compared. A contender that fails is left out of later rounds.
 */
async function interleave(
  { options, bank, open, say }: Bench,
  connections: number,
  /** The names must include `limit`, because every answer is compared with that contender's. */
  names: readonly string[],
  all: readonly Shape[],
  bankqlEnvironment?: Readonly<Record<string, string>>,
): Promise<Measured[]> {
  const shapes = all.filter(({ name }) => options.shapes.has(name));
  await using opened = new AsyncDisposableStack();
  const servers: Running[] = [];
  for (const contender of contenders.filter(({ name }) => names.includes(name)))
    servers.push(opened.use(await open(contender, contender === bankql ? bankqlEnvironment : {})));
  const limitPort = servers.find(({ contender }) => contender === limit)?.port ?? 0;
  const entries = servers.flatMap((server) =>
    shapes.map((shape) => {
      const { contender } = server;
      return { server, contender, shape, rounds: [] as Round[], failure: null as string | null };
    }),
  );
  for (let turn = 0; turn < options.rounds; turn++) {
    const warmUpSeconds = turn === 0 ? firstWarmUpSeconds : options.seconds * laterWarmUp;
    for (const shape of shapes) {
      const limitAnswer = await askOnce(limitPort, shape.query);
      const inTurn = entries.filter((each) => each.shape === shape && each.failure === null);
      // Every second round runs in the opposite order, so that no contender always follows the same one.
      for (const entry of turn % 2 === 0 ? inTurn : inTurn.reverse()) {
        const title = `  ${titleOf(shape)}, ${entry.contender.name}`;
        try {
          const load = { seconds: options.seconds, warmUpSeconds, connections };
          const round = await measureRound(bank, entry.server, shape, limitAnswer, load);
          entry.rounds.push(round);
          const figures = Object.entries(round).map(([name, value]) => `${name} ${value.toPrecision(3)}`);
          say(`${title}: ${figures.join(', ')}`);
        } catch (error) {
          entry.failure = reasonOf(error);
          say(`${title} failed: ${entry.failure}`);
        }
      }
    }
  }
  return entries;
}

const root = join(import.meta.dirname, '../..');

/** An error as the text of a cell of a table, without the paths of this machine. */
export const reasonOf = (error: unknown): string =>
  String(error instanceof Error ? error.message : error)
    .replaceAll(root, '.')
    .replaceAll(/[\s|]+/g, ' ')
    .slice(0, 160);
