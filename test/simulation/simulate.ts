import type { PaymentRecord } from '../../src/payments/store.ts';
import type { Told } from '../support/payment-client.ts';
import type { BankEntry } from '../support/payment-history.ts';
import { describeViolation, violationsOf } from '../support/payment-invariants.ts';
import { between, Choices } from './choices.ts';
import { Clients } from './clients.ts';
import { Cluster } from './cluster.ts';
import { SimulatedNetwork } from './network.ts';
import { deadlineMs, leaseMs, type Order } from './replica.ts';
import { sound, type Variant } from './variants.ts';
import { installVirtualGlobals } from './virtual-globals.ts';
import { longestStopMs, World } from './world.ts';

export interface SimulationOptions {
  readonly variant?: Variant;
  /** The only departures from the usual course that may be taken; all where it is left out. */
  readonly allowed?: ReadonlySet<string>;
  /** Whether the course of events is wanted, in words. */
  readonly keepsLines?: boolean;
}

export interface Simulation {
  readonly violations: readonly { readonly invariant: string; readonly text: string }[];
  /** The same for two runs that are the same. */
  readonly traceHash: string;
  /** How the run departed from its usual course. */
  readonly departures: readonly string[];
  readonly lines: readonly string[];
  /** How often the bank received a payment, and how often clients were told what. */
  readonly requests: number;
  readonly told: readonly string[];
}

/** How long all may go wrong. */
const historyMs = 30_000;
const patienceMs = 15_000;
const maxAsks = 3;

/** Runs the world of a seed. Only one at a time. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Simulation> {
  const { variant = sound, allowed = null, keepsLines = false } = options;
  const choices = new Choices(seed, allowed);
  const world = new World(choices, { keepsLines });
  const network = new SimulatedNetwork(world);
  using _ = installVirtualGlobals(world, network);
  const cluster = new Cluster(world, network, variant);
  const orders = ordersOf(choices);
  const clients = new Clients(world, cluster, (order, told) => followDocumentation(order, told));

  /** What docs/payments.md tells a client to do with an answer: pay under a new key, or ask the bank first. */
  function followDocumentation(order: Order, { code, trackId }: Told): void {
    if (refusals.includes(code)) payAgain(order);
    if (code !== 'OUTCOME_UNKNOWN') return;
    world.after(bankKnowsAfterMs, 'message', null, `the bank is asked about ${trackId}`, () => {
      const received = cluster.received.filter(({ arrived }) => arrived.trackId === trackId);
      if (!received.some(({ executed }) => executed)) payAgain(order);
    });
  }

  /** Under another key; the first one is not given up by everybody. */
  function payAgain({ account, key, amount }: Order): void {
    const again = { account: `${account}${suffix}`, key: `${key}${suffix}`, amount };
    if (account.endsWith(suffix) || orders.some((order) => order.key === again.key)) return;
    world.note(`payment ${account} is paid under a new key`);
    orders.push(again);
    clients.ask({ order: again, amount, place: 0, phase: 'history', retries: 5 });
  }

  for (const [n, order] of orders.entries()) planAsks(world, clients, order, n);
  for (let at = 1000; at < historyMs; at += 1000) {
    await world.run(1000);
    cluster.shake();
  }
  // All is well now, and every payment is asked for once more of replicas started anew, and again after its lease.
  choices.calm();
  await world.run(longestStopMs);
  cluster.restart();
  await world.run(2 * patienceMs);
  for (const order of orders) clients.ask({ order, amount: order.amount, place: 0, phase: 'last word' });
  await world.run(bankKnowsAfterMs + patienceMs);
  await world.run(leaseMs + cluster.setBackMs);
  for (const order of orders)
    clients.ask({ order, amount: order.amount, place: 1, phase: 'after the lease' });
  await world.run(patienceMs);
  const records = await cluster.records();

  const history = {
    clients: clients.asked,
    bank: cluster.received,
    audit: cluster.audit,
    records,
    deadlineMs,
  };
  return {
    violations: [
      ...cluster.misdeeds.map((text) => ({ invariant: 'nothing else fails', text })),
      ...violationsOf(history).map((violation) => ({
        invariant: violation.invariant,
        text: describeViolation(violation),
      })),
      ...paidTwice(cluster.received),
      ...usedUp(records, cluster),
    ],
    traceHash: world.traceHash,
    departures: choices.departures,
    lines: world.lines,
    requests: cluster.received.length,
    told: history.clients.map(({ told }) => told?.code ?? 'no answer'),
  };
}

/** What is paid again under a new key has the account's name with this behind it. */
const suffix = '-again';
const refusals: readonly string[] = ['BANK_REJECTED', 'FORBIDDEN', 'NOT_FOUND'];
/** When the bank can say for certain that it did not execute a request: no message is as late. */
const bankKnowsAfterMs = 25_000;

function paidTwice(received: readonly BankEntry[]) {
  const executed = received.filter((entry) => entry.executed);
  const byIntent = Map.groupBy(executed, ({ arrived }) => arrived.account.replace(suffix, ''));
  return [...byIntent].flatMap(([account, entries]) =>
    entries.length < 2
      ? []
      : {
          invariant: 'a client that follows the documentation pays once',
          text: `payment ${account}: executed ${entries.length} times, although its client followed the documentation`,
        },
  );
}

/** Beginnings that were refused with words of this request alone, and never taken back although their process went on. */
function usedUp(records: readonly PaymentRecord[], { audit, crashed }: Cluster) {
  return records
    .filter(({ state, trackId }) => state === 'UNKNOWN' && !audit.some((line) => line.trackId === trackId))
    .filter(({ replica }) => !crashed.has(replica ?? ''))
    .map(({ accountId, trackId }) => ({
      invariant: 'a beginning that was refused is taken back',
      text: `payment ${accountId}: ${trackId} was never about to be sent, and is UNKNOWN for good`,
    }));
}

/** The payments that somebody intends. */
function ordersOf(choices: Choices): Order[] {
  const count = 1 + Math.floor(choices.random('orders') * 2);
  return Array.from({ length: count }, (_, n) => ({ account: `${n}`, key: `key-${n}`, amount: '12.50' }));
}

/** When a payment is asked for, and by how many. */
function planAsks(world: World, clients: Clients, order: Order, n: number): void {
  const { choices } = world;
  for (let ask = 0; ask < maxAsks; ask++) {
    const name = `ask ${ask} for payment ${n}`;
    const when = ask === 0 ? 0 : choices.departs(null, 0.5, name);
    if (when === null) continue;
    const amount =
      choices.departs('amounts', 0.1, `${name} is for another amount`) === null ? order.amount : '13.50';
    const at = ask === 0 ? 100 : between(100, historyMs, when);
    const place = Math.floor(choices.random(`the replica of ${name}`) * 3);
    const doubled = choices.departs('doubled messages', 0.2, `${name} arrives twice`);
    world.after(at, 'message', null, name, () => {
      const asked = { order, amount, place, phase: 'history', retries: 5 } as const;
      clients.ask(asked);
      if (doubled !== null) clients.ask({ ...asked, place: place + Math.floor(doubled * 2) });
    });
  }
}

/**
 * The shortest schedule found with which a seed breaks the same invariant: as few departures from the usual course as possible.
 * Takes away half of them, then quarters and so on, down to each alone, as long as what remains still breaks it.
 */
export async function shrink(
  seed: number,
  found: Simulation,
  options: SimulationOptions,
): Promise<Simulation> {
  const broken = new Set(found.violations.map(({ invariant }) => invariant));
  let shortest = found;
  for (let size = Math.ceil(shortest.departures.length / 2); size >= 1; ) {
    let isShorter = false;
    for (let from = 0; from < shortest.departures.length; ) {
      const { departures } = shortest;
      const allowed = new Set(departures.filter((_, n) => n < from || n >= from + size));
      const run = await simulate(seed, { ...options, allowed });
      const isBroken = run.violations.some(({ invariant }) => broken.has(invariant));
      if (isBroken && run.departures.length < departures.length) {
        shortest = run;
        isShorter = true;
      } else from += size;
    }
    if (size === 1 && !isShorter) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  // Once more, for its words.
  return simulate(seed, { ...options, allowed: new Set(shortest.departures), keepsLines: true });
}
