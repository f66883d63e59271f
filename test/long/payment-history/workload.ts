import { createHash } from 'node:crypto';

/** The operations on a payment service and their clients, determined by the seed alone. */
export interface Workload {
  readonly asks: readonly Ask[];
  readonly events: readonly ChaosEvent[];
  /** A number from 0 up to 1, which depends only on the seed and the name. */
  readonly random: Random;
}

export type Random = (...name: readonly (string | number)[]) => number;

/** One intended payment: a caller and a key. Its account identifies it at the bank and in the record. */
export interface PlannedPayment {
  readonly account: string;
  readonly key: string;
  readonly caller: string;
  readonly mutation: 'makeTransaction' | 'putTransactionRequest';
}

/** A request of a client for a payment. */
export interface Ask {
  readonly payment: PlannedPayment;
  readonly amount: string;
  /** The number of concurrent requests. They go to the replicas in turn, beginning with this one. */
  readonly times: number;
  readonly replica: 0 | 1;
  /** The delay before the client sends the request. */
  readonly waitMs: number;
  /** The time after which the client disconnects; null if it waits for the answer. */
  readonly leaveMs: number | null;
}

/** A fault of the machine, and the number of operations after which it occurs. */
export interface ChaosEvent {
  readonly at: number;
  readonly kind: ChaosKind;
  readonly replica: 0 | 1;
  readonly forMs: number;
  /** A number that increases with each event: its remainder chooses the way in which the store is made unavailable. */
  readonly way: number;
}

type ChaosKind = keyof typeof deck;

/** The number of events of each kind in one round. Each round has another order. */
const deck = {
  'SIGKILL and restart': 4,
  'SIGKILL when a payment arrives, and restart': 4,
  'SIGTERM and restart': 2,
  SIGSTOP: 3,
  'store away': 4,
  'bank refuses connections': 3,
} as const;
const cards = entriesOf(deck).flatMap(([kind, times]) => Array<ChaosKind>(times).fill(kind));

/** The name in a table of weights to which a random number from 0 up to 1 leads. */
export function pick<Name extends string>(weights: Readonly<Record<Name, number>>, at: number): Name {
  const entries = entriesOf(weights);
  let left = at * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of entries) {
    left -= weight;
    if (left < 0) return name;
  }
  throw new Error(`no weight at ${at}`);
}

function entriesOf<Name extends string>(weights: Readonly<Record<Name, number>>): [Name, number][] {
  // The type of Object.entries does not contain the names.
  return Object.entries<number>(weights) as [Name, number][];
}

const asked = { first: '12.50', other: '13.50' };
/** The number of payments that are requested at one time, and the average number of requests for each. */
const window = 5;
const asksOfPayment = 6;
const operationsBetweenEvents = 22;

/** The speed of a run: the average delay before a request, and the longest SIGSTOP. */
interface Pace {
  readonly waitMs: number;
  readonly pauseMs: number;
}

/** A plan of at least this number of operations. */
export function makePlan(seed: number, operations: number, pace: Pace): Workload {
  const random: Random = (...name) =>
    createHash('sha256')
      .update(JSON.stringify([seed, ...name]))
      .digest()
      .readUInt32BE() /
    2 ** 32;

  const paymentOf = (n: number): PlannedPayment => {
    // Some callers use each other's keys.
    const caller = `caller-${Math.floor(random('caller', n) * 3)}`;
    const key = `key-${n - (random('shared', n) < 0.2 ? 1 : 0)}`;
    return {
      account: `${n}`,
      key,
      caller: `${caller}-${n % 2}`,
      mutation: random('mutation', n) < 0.25 ? 'putTransactionRequest' : 'makeTransaction',
    };
  };
  const payments: PlannedPayment[] = [];
  const payment = (n: number): PlannedPayment => (payments[n] ??= paymentOf(n));

  const asks: Ask[] = [];
  let planned = 0;
  for (let n = 0; planned < operations; n++) {
    const newest = Math.floor(planned / asksOfPayment);
    const isLate = random('late', n) < 0.08;
    const back = isLate ? random('back', n) * (newest + 1) : random('back', n) * Math.min(window, newest + 1);
    const times = random('burst', n) < 0.06 ? 8 : 1;
    asks.push({
      payment: payment(newest - Math.floor(back)),
      amount: random('amount', n) < 0.08 ? asked.other : asked.first,
      times,
      replica: random('replica', n) < 0.5 ? 0 : 1,
      waitMs: Math.floor(random('wait', n) * 2 * pace.waitMs),
      leaveMs:
        random('leaves', n) < 0.2 ? ([0, 1, 5, 50, 150][Math.floor(random('leave', n) * 5)] ?? 0) : null,
    });
    planned += times;
  }

  const forMs: Partial<Record<ChaosKind, number>> = {
    SIGSTOP: pace.pauseMs,
    'store away': 1200,
    'bank refuses connections': 500,
  };
  const shuffled = (round: number) =>
    cards
      .map((kind, n) => ({ kind, place: random('deck', round, n) }))
      .sort((a, b) => a.place - b.place)
      .map(({ kind }) => kind);
  const events: ChaosEvent[] = [];
  let way = 0;
  for (
    let n = 0, at = 5;
    at < planned;
    n++, at += 1 + Math.floor(random('gap', n) * 2 * operationsBetweenEvents)
  ) {
    const kind = shuffled(Math.floor(n / cards.length))[n % cards.length] ?? 'SIGSTOP';
    const longest = forMs[kind] ?? 0;
    events.push({
      at,
      kind,
      replica: random('victim', n) < 0.5 ? 0 : 1,
      forMs: Math.round(longest * (0.2 + 0.8 * random('length', n))),
      way: kind === 'store away' ? way++ : 0,
    });
  }
  return { asks, events, random };
}
