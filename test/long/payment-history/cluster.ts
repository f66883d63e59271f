import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { withLimits } from '../../support/limits.ts';
import { startPaymentBank } from '../../support/payment-bank.ts';
import type { BankEntry } from '../../support/payment-history.ts';
import type { StateKind } from '../../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../../support/process.ts';
import { accepting, faultOf } from './faults.ts';
import type { ChaosEvent, Workload } from './workload.ts';

/** Two processes of bankql with one store and one bank, and the faults that the test causes. */
export interface Cluster extends AsyncDisposable {
  readonly stateUrl: string;
  /** Moves the times of all stored records back, as if time had passed. */
  pass(ms: number): Promise<void>;
  readonly bank: readonly BankEntry[];
  /** The number of events of each kind that were caused. */
  readonly events: ReadonlyMap<string, number>;
  /** Violations by a process that do not concern a payment. */
  readonly misdeeds: string[];
  /** The output of all processes. */
  output(): string;
  /** The address of a replica; of the other one if this one is down. */
  address(replica: number): Promise<string>;
  /** Causes an event, and resolves when it is over. Does nothing if such an event is in progress. */
  cause(event: ChaosEvent): Promise<void>;
  /** From now on, the bank accepts every payment. */
  heal(): void;
  /** Stops both processes by SIGTERM, and starts them again. */
  restart(): Promise<void>;
  /** Stops both processes by SIGTERM. */
  stop(): Promise<void>;
}

/** The deadline of a payment. */
export const deadlineMs = 400;
const stopMs = 30_000;
const paid = z.object({ value: z.object({ amount: z.number() }) });

/** The place of a process. It is empty while the process is down. */
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
    // The time at which the request left is unknown: if this process is busy, it may read the request long
    // after that.
    log.push({ arrived, amount, leftAt: 0, at, ...fault });
    nextArrival.resolve();
    nextArrival = Promise.withResolvers();
    return act;
  };

  async function launch(): Promise<BankqlProcess> {
    const started = await startProcess({
      BANK_BASE_URL: bank.url,
      // Every fault must reach the bank, so no breaker pauses payments.
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
    // A process that stops while the store is unavailable logs the outcomes that it could not write.
    const isLoss = ended === 1 && running.output().includes('the payment store lacks an outcome');
    if (!isLoss && ended !== (signal === 'SIGKILL' ? 'SIGKILL' : 0))
      misdeeds.push(`${signal} ended a process with: ${ended}`);
  }

  async function restart(place: Place, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await end(place, signal);
    // The store may be unavailable at this moment. Then bankql does not start, and a supervisor starts it again.
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
