import { isDeepStrictEqual } from 'node:util';
import type { Bank } from './bank/stub.ts';
import { askOnce, fire, requestsOf } from './load/fire.ts';
import { cpuOf, cpuOfCore, memoryOf } from './load/kernel.ts';
import type { Running } from './load/process.ts';
import type { Shape } from './shapes.ts';

/** The figures of one round of one contender and one shape. */
export type Round = Awaited<ReturnType<typeof measureRound>>;

/**
 * Sends a query once, converts the answer to that of the bench's query, and compares it with the answer of the contender
 * `limit`.
 * Shape:  the query for the contender's schema, and the body of its answer.
 * Errors: a different answer, or one with errors in it.
 */
export async function checkedAnswer({ contender, port }: Running, shape: Shape, limitAnswer: Buffer) {
  const question = await contender.questionFor?.(shape);
  const query = question?.query ?? shape.query;
  const expected = await askOnce(port, query);
  const { data, errors } = JSON.parse(expected.toString());
  const answer = errors === undefined && question ? await question.answerOf(data) : data;
  if (errors !== undefined || !isDeepStrictEqual(answer, JSON.parse(limitAnswer.toString()).data))
    throw new Error(
      `${contender.name} answers ${shape.name} otherwise than the limit: ${expected.toString('utf8', 0, 1500)}`,
    );
  return { query, expected };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
export const quantile = (sorted: Float64Array, share: number) =>
  sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;

/** The core of the contender, and the core of the load and the bank. */
export const cores = { contender: 0, load: 1 } as const;

/** The processor time of the contender, of this process (the load and the bank), and of both cores, in microseconds. */
function processorTimes(pid: number) {
  const { user, system } = process.cpuUsage();
  const all = cpuOfCore(cores.contender) + cpuOfCore(cores.load);
  return { contender: cpuOf(pid), load: user + system, all };
}

/**
 * Measures one round, after a warm-up. Every answer must equal the one that `checkedAnswer` has checked, byte for byte,
 * and every call that reaches the bank is counted.
 * Errors: a wrong answer; a call that the bank refused; for a contender that must be exact, another number of calls than
 *         necessary.
 */
export async function measureRound(
  bank: Bank,
  running: Running,
  shape: Shape,
  limitAnswer: Buffer,
  {
    seconds,
    warmUpSeconds,
    connections,
  }: Readonly<Record<'seconds' | 'warmUpSeconds' | 'connections', number>>,
) {
  const { contender, port, pid } = running;
  bank.reset();
  const { query, expected } = await checkedAnswer(running, shape, limitAnswer);
  const load = { port, requests: requestsOf(query, port), connections, expected };
  await fire({ ...load, seconds: warmUpSeconds });
  bank.reset();
  const before = processorTimes(pid);
  const { requests, seconds: took, latencies, idle } = await fire({ ...load, seconds });
  const after = processorTimes(pid);
  const cpu = after.contender - before.contender;
  const othersCpu = Math.max(0, after.all - before.all - cpu - (after.load - before.load));
  const { refused = 0, 'unknown path': unknown = 0, ...calls } = bank.calls();
  if (refused + unknown > 0)
    throw new Error(`${contender.name}: ${refused} calls refused, ${unknown} to nowhere`);
  const callsPerRequest = sum(Object.values(calls)) / requests;
  if (contender.isExact && callsPerRequest !== shape.calls)
    throw new Error(`${contender.name} makes ${callsPerRequest} calls where ${shape.calls} are needed`);
  const memory = memoryOf(pid);
  return {
    requestsPerSecond: requests / took,
    /** The contender's processor time for each request, over all threads, in microseconds. */
    cpuUs: cpu / requests,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    rssMb: memory.now,
    peakMb: memory.most,
    callsPerRequest,
    /**
     * The share of their core that the load and the bank used together. Near 1, the round measures them and not the contender.
     */
    loadBusy: 1 - idle,
    /** The share of the two cores that other processes used. */
    othersBusy: othersCpu / (2 * took * 1e6),
  };
}
