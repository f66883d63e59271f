import { join } from 'node:path';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { type Contender, limit } from '../contenders.ts';
import { askOnce } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import { measureRound, queryFor, type Round, type RoundOptions, type Running } from '../measure.ts';
import { type Shape, titleOf } from '../shapes.ts';

/** The rounds of a contender with a shape. */
export interface Measured {
  readonly contender: Contender;
  readonly shape: Shape;
  readonly rounds: readonly Round[];
  /** Why there are not as many as there should be; null where there are. */
  readonly failure: Failure | null;
}

/** `not run`: it could not be started here, or be asked. `failed`: it answered wrongly, or made a wrong call. */
export interface Failure {
  readonly what: 'not run' | 'failed';
  readonly reason: string;
}

export interface Interleaved {
  /** With the limit, which says what the right answer is. */
  readonly contenders: readonly Contender[];
  readonly shapes: readonly Shape[];
  readonly round?: Pick<RoundOptions, 'connections'>;
  readonly environment?: (contender: Contender) => Readonly<Record<string, string>>;
}

/**
 * How long the warm-up before the first round of a shape takes, in seconds: V8 optimizes a server's functions during its first
 * thousands of requests. Before later rounds it takes this part of a round.
 */
export const firstWarmUpSeconds = 3;
const laterWarmUp = 0.25;

/**
 * Rounds of every contender with every shape, one contender after the other within each round: figures of the same round
 * are pairs. A contender that fails is left out from there on.
 */
export async function interleave(
  bench: Bench,
  { contenders, shapes, round = {}, environment }: Interleaved,
): Promise<Measured[]> {
  const { options, bank, say } = bench;
  await using opened = new AsyncDisposableStack();
  const entries: {
    contender: Contender;
    shape: Shape;
    rounds: Round[];
    failure: Failure | null;
    running: Running | null;
  }[] = [];
  let theLimit: Running | null = null;
  for (const contender of contenders) {
    let running: Running | null = null;
    let failure: Failure | null = null;
    try {
      running = opened.use(await bench.open(contender, environment?.(contender)));
      if (contender === limit) theLimit = running;
    } catch (error) {
      failure = { what: 'not run', reason: reasonOf(error) };
      say(`  ${contender.name} is not run: ${failure.reason}`);
    }
    for (const shape of shapes) {
      const canBeAsked = queryFor(contender, shape) !== null;
      const cannot: Failure = { what: 'not run', reason: 'its schema cannot say this' };
      entries.push({ contender, shape, rounds: [], failure: canBeAsked ? failure : cannot, running });
    }
  }
  if (theLimit === null) throw new Error('without the limit there is nothing to compare with');
  const answers = new Map<Shape, Buffer>();
  for (const shape of shapes) {
    const [request = Buffer.alloc(0)] = requestsOf(shape.query, theLimit.port, 1);
    answers.set(shape, (await askOnce(theLimit.port, request)).body);
  }
  for (let turn = 0; turn < options.rounds; turn++) {
    const warmUpSeconds = turn === 0 ? firstWarmUpSeconds : options.seconds * laterWarmUp;
    for (const shape of shapes) {
      const inTurn = entries.filter((each) => each.shape === shape);
      // Every second round runs backwards, so that nobody always follows the same contender.
      for (const entry of turn % 2 === 0 ? inTurn : inTurn.reverse()) {
        const limitAnswer = answers.get(shape);
        if (entry.running === null || entry.failure !== null || limitAnswer === undefined) continue;
        progress(`${titleOf(shape)}, ${entry.contender.name}, round ${turn + 1} of ${options.rounds}`);
        try {
          const measured = await measureRound(bank, entry.running, shape, limitAnswer, {
            ...round,
            seconds: options.seconds,
            warmUpSeconds,
          });
          entry.rounds.push(measured);
          say(
            `  ${titleOf(shape)}, ${entry.contender.name}: ${Math.round(measured.requestsPerSecond)}/s, ${Math.round(measured.cpuUs)} µs, ${measured.callsPerRequest.toFixed(2)} calls, load's core ${Math.round(measured.loadBusy * 100)} %, others ${Math.round(measured.othersBusy * 100)} %`,
          );
        } catch (error) {
          entry.failure = { what: 'failed', reason: reasonOf(error) };
          say(`  ${titleOf(shape)}, ${entry.contender.name} failed: ${entry.failure.reason}`);
        }
      }
    }
  }
  return entries.map(({ running: _, ...measured }) => measured);
}

const root = join(import.meta.dirname, '../..');
const longestReason = 160;

/** What goes into a cell of a table, and names no folder of this machine. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replaceAll(root, '.')
    .replaceAll(/[\s|]+/g, ' ')
    .slice(0, longestReason);
