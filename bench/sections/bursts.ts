import { askOnce, fire } from '../load/fire.ts';
import { cpuOf } from '../load/kernel.ts';
import { requestsOf } from '../load/requests.ts';
import type { Running } from '../measure.ts';
import type { Shape } from '../shapes.ts';

/** Processor time, measured in bursts so short that what drifts on the machine drifts for all that are asked in turn. */

const burstSeconds = 0.3;
const connections = 32;

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN;

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** A ratio's median, with its quartiles. */
export const describeRatios = (ratios: readonly number[]): string => {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3));
  return `${middle} (${low} to ${high})`;
};

/**
 * Warms a server up, and gives a function that asks for one burst: its processor time for a request, in microseconds.
 * Errors: an answer that is not the first one's.
 */
export async function openBursts({ port, process }: Running, shape: Shape, warmUpSeconds: number) {
  const requests = requestsOf(shape.query, port);
  const [request = Buffer.alloc(0)] = requests;
  const { body: expected } = await askOnce(port, request);
  const load = { port, requests, connections, expected };
  await fire({ ...load, seconds: warmUpSeconds });
  return async () => {
    const before = cpuOf(process.pid);
    const fired = await fire({ ...load, seconds: burstSeconds });
    return (cpuOf(process.pid) - before) / fired.requests;
  };
}
