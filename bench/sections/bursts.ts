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

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** A ratio's median, with its quartiles. */
export const describeRatios = (ratios: readonly number[]): string => {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share).toFixed(3));
  return `${middle} (${low} to ${high})`;
};

/** Servers that are asked at the same time, for so many seconds with each burst; each gets its part of the connections. */
interface Group {
  readonly servers: readonly Pick<Running, 'port' | 'process'>[];
  /** The requests to one of them for so many seconds. */
  readonly requestsFor: (port: number, seconds: number) => readonly Buffer[];
  readonly warmUpSeconds: number;
  readonly seconds?: number;
}

/**
 * Warms a server up, and gives a function that asks for one burst: its processor time for a request, in microseconds.
 * Errors: an answer that is not the first one's.
 */
export const openBursts = (running: Running, shape: Shape, warmUpSeconds: number) => {
  const requests = requestsOf(shape.query, running.port);
  return openBurstsOf({ servers: [running], requestsFor: () => requests, warmUpSeconds });
};

/** The same for a group of servers. */
export async function openBurstsOf({
  servers,
  requestsFor,
  warmUpSeconds,
  seconds: burst = burstSeconds,
}: Group): Promise<() => Promise<number>> {
  const loads = await Promise.all(
    servers.map(async ({ port }) => {
      const [request = Buffer.alloc(0)] = requestsFor(port, 0);
      const { body: expected } = await askOnce(port, request);
      return { port, expected, connections: connections / servers.length };
    }),
  );
  const fireAll = (seconds: number) => {
    const prepared = loads.map((load) => ({ ...load, requests: requestsFor(load.port, seconds), seconds }));
    return Promise.all(prepared.map(fire));
  };
  const cpu = () => sum(servers.map(({ process: { pid } }) => cpuOf(pid)));
  await fireAll(warmUpSeconds);
  return async () => {
    const before = cpu();
    const fired = await fireAll(burst);
    return (cpu() - before) / sum(fired.map(({ requests }) => requests));
  };
}
