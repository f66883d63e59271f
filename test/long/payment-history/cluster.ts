import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { withLimits } from '../../support/limits.ts';
import { startPaymentBank } from '../../support/payment-bank.ts';
import type { BankEntry } from '../../support/payment-history.ts';
import type { StateKind } from '../../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../../support/process.ts';
import { accepting, faultOf } from './faults.ts';
import type { ChaosEvent, Workload } from './workload.ts';

/** Two processes of bankql over one store and one bank, and all that can happen to them. */
export interface Cluster extends AsyncDisposable {
  readonly stateUrl: string;
  /** Lets time pass for all that the store holds. */
  pass(ms: number): Promise<void>;
  readonly bank: readonly BankEntry[];
  /** How often each kind of event was made to happen. */
  readonly events: ReadonlyMap<string, number>;
  /** What a process did that it must not, whatever the payments. */
  readonly misdeeds: string[];
  /** What all processes have printed. */
  output(): string;
  /** The address of a replica, or of the other one where that is down. */
  address(replica: number): Promise<string>;
  /** Makes an event happen, and resolves when it is over; nothing where it happens already. */
  cause(event: ChaosEvent): Promise<void>;
  /** From now on the bank accepts whatever comes. */
  heal(): void;
  /** Starts both processes anew, after a SIGTERM. */
  restart(): Promise<void>;
  /** Ends both processes with a SIGTERM. */
  stop(): Promise<void>;
}

/** The deadline of a payment. */
export const deadlineMs = 400;
const stopMs = 30_000;
const paid = z.object({ value: z.object({ amount: z.number() }) });

/** A place of a process, which is empty while that is down. */
interface Place {
  running: BankqlProcess | null;
  busy: boolean;
}

export async function startCluster(plan: Workload, { start, ways }: StateKind): Promise<Cluster> {
  await using made = new AsyncDisposableStack();
  const bank = made.use(await startPaymentBank());
  const state = made.use(await start());
  const children = new Set<BankqlProcess['child']>();
  const killAll = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', killAll);
  made.defer(() => void process.off('exit', killAll));
  made.defer(killAll);

  const log: BankEntry[] = [];
  const misdeeds: string[] = [];
  const events = new Map<string, number>();
  const outputs: (() => string)[] = [];
  const count = (what: string) => events.set(what, (events.get(what) ?? 0) + 1);

  let nextArrival = Promise.withResolvers<void>();
  let isWell = false;
  bank.drops = (connection) => !isWell && plan.random('drop', connection) < 0.03;
  bank.decide = (arrived) => {
    const nth = bank.of(arrived.account).length;
    const { act, ...fault } = isWell ? accepting(arrived) : faultOf(plan.random, arrived, nth, deadlineMs);
    const amount = paid.parse(JSON.parse(arrived.body)).value.amount.toFixed(2);
    const at = performance.now();
    // When it left is not known: this process may read it long after, when it was busy itself.
    log.push({ arrived, amount, leftAt: 0, at, ...fault });
    nextArrival.resolve();
    nextArrival = Promise.withResolvers();
    return act;
  };

  async function launch(): Promise<BankqlProcess> {
    const started = await startProcess({
      BANK_BASE_URL: bank.url,
      // Every fault is to reach the bank: no breaker pauses payments in between.
      ...withLimits({ breakerShare: 0 }),
      STATE_URL: state.url,
      BANK_TRANSFER_TIMEOUT_MS: String(deadlineMs),
      LOG_LEVEL: 'error',
    });
    children.add(started.child);
    started.child.once('exit', () => children.delete(started.child));
    outputs.push(started.output);
    return started;
  }

  async function end(place: Place, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { running } = place;
    place.running = null;
    if (running === null) return;
    const ended = await Promise.race([running.stop(signal), delay(stopMs, 'not yet', { ref: false })]);
    // A process that stops while the store is away tells what it could not write.
    const isLoss = ended === 1 && running.output().includes('the payment store lacks an outcome');
    if (!isLoss && ended !== (signal === 'SIGKILL' ? 'SIGKILL' : 0))
      misdeeds.push(`${signal} ended a process with: ${ended}`);
  }

  async function restart(place: Place, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await end(place, signal);
    // The store may be away just now: then bankql does not start, and whoever runs it starts it again.
    while (place.running === null) {
      place.running = await launch().catch((error: Error) => {
        if (!/store|STATE_URL/.test(error.message)) throw error;
        count('a start without the store');
        return null;
      });
    }
  }

  const places: readonly Place[] = await Promise.all(
    [0, 1].map(async () => ({ running: await launch(), busy: false })),
  );
  const outside = { bank: false, store: false };

  async function cause({ kind, replica, forMs, way }: ChaosEvent): Promise<void> {
    if (kind === 'bank refuses connections') {
      if (outside.bank) return;
      outside.bank = true;
      count(kind);
      await bank.close();
      await delay(forMs);
      await bank.listen();
      outside.bank = false;
    } else if (kind === 'store away') {
      if (outside.store) return;
      outside.store = true;
      const how = ways[way % ways.length] ?? '';
      count(`store ${how}`);
      const giveBack = await state.takeAway(how);
      await delay(forMs);
      await giveBack();
      outside.store = false;
    } else {
      const place = places[replica];
      if (place === undefined || place.busy) return;
      place.busy = true;
      count(kind);
      if (kind === 'SIGSTOP') {
        place.running?.child.kill('SIGSTOP');
        await delay(forMs);
        place.running?.child.kill('SIGCONT');
      } else {
        if (kind === 'SIGKILL when a payment arrives, and restart')
          await Promise.race([nextArrival.promise, delay(500)]);
        await restart(place, kind === 'SIGTERM and restart' ? 'SIGTERM' : 'SIGKILL');
      }
      place.busy = false;
    }
  }

  const resources = made.move();
  return {
    stateUrl: state.url,
    pass: state.pass,
    bank: log,
    events,
    misdeeds,
    output: () => outputs.map((output) => output()).join('\n'),
    async address(replica) {
      for (;;) {
        const up = places[replica % 2]?.running ?? places[(replica + 1) % 2]?.running;
        if (up) return up.url;
        await delay(20);
      }
    },
    cause,
    heal() {
      isWell = true;
    },
    restart: async () => void (await Promise.all(places.map((place) => restart(place, 'SIGTERM')))),
    stop: async () => void (await Promise.all(places.map((place) => end(place, 'SIGTERM')))),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
