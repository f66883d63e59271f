import type { Told } from '../support/payment-client.ts';
import type { ClientEntry } from '../support/payment-history.ts';
import { between } from './choices.ts';
import type { Cluster } from './cluster.ts';
import type { Order } from './replica.ts';
import type { World } from './world.ts';

/** One request for a payment. */
export interface Ask {
  readonly order: Order;
  readonly amount: string;
  /** Of the replicas, which one is asked; the next one where that is down. */
  readonly place: number;
  readonly phase: ClientEntry['phase'];
  /** How often it is sent again, where the answer does not tell the end. */
  readonly retries?: number;
}

/** They tell a client to send it again. */
const retryable = [
  'STATE_UNAVAILABLE',
  'IDEMPOTENCY_IN_PROGRESS',
  'BANK_UNAVAILABLE',
  'BANK_TIMEOUT',
  'UNAUTHENTICATED',
];

/** How long a client waits for an answer before it asks again. */
const patienceMs = 4000;

/** Those who ask for payments, and what they were told. */
export class Clients {
  readonly #asked: ClientEntry[] = [];
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #onTold: (order: Order, told: Told) => void;

  constructor(world: World, cluster: Cluster, onTold: (order: Order, told: Told) => void) {
    this.#world = world;
    this.#cluster = cluster;
    this.#onTold = onTold;
  }

  get asked(): readonly ClientEntry[] {
    return this.#asked;
  }

  /** Asks a replica, which may be down, or die before it answers: then there is no answer. */
  ask(ask: Ask): void {
    const { order: payment, amount, place, phase } = ask;
    const world = this.#world;
    const { misdeeds, places } = this.#cluster;
    const number = this.#asked.length;
    const name = `client ${number}`;
    const entry = { payment, amount, began: world.now, ended: Number.POSITIVE_INFINITY, told: null, phase };
    this.#asked.push(entry);
    const inTurn = places.map((_, n) => places[(place + n) % places.length]);
    const { process, running } = inTurn.find((other) => other?.running != null) ?? {};
    if (process === undefined || running == null) {
      world.note(`${name} finds no replica`);
      this.#retry(ask, name);
      return;
    }
    let isRetried = false;
    const retry = () => {
      if (!isRetried) this.#retry(ask, name);
      isRetried = true;
    };
    world.after(patienceMs, 'message', null, name, () => {
      if (this.#asked[number]?.told === null) retry();
    });
    world.note(`${name} asks ${process.name} for payment ${payment.account}, ${amount} EUR`);
    world.after(this.#latency(`${name}'s request`), 'message', process, name, () => {
      running.pay({ ...payment, amount }).then(
        (told) => {
          if (!world.takesEffect(process, `its answer to ${name}`)) return;
          world.after(this.#latency(`${name}'s answer`), 'message', null, name, () => {
            const { code, trackId, replayed } = told;
            world.note(`${name} is told ${code} ${trackId ?? ''}${replayed ? ', replayed' : ''}`);
            this.#asked[number] = { ...entry, ended: world.now, told };
            if (retryable.includes(code)) retry();
            this.#onTold(payment, told);
          });
        },
        (error) => misdeeds.push(`${name} is answered with ${error}`),
      );
    });
  }

  #retry(ask: Ask, name: string): void {
    const { retries = 0, place } = ask;
    if (retries === 0) return;
    const soon = this.#world.choices.random(`${name} asks again`);
    this.#world.after(between(20, 4000, soon), 'message', null, name, () =>
      this.ask({ ...ask, retries: retries - 1, place: place + 1 }),
    );
  }

  #latency(name: string): number {
    const late = this.#world.choices.departs('late messages', 0.05, `${name} is late`);
    return 1 + this.#world.choices.random(name) + (late === null ? 0 : between(20, 20_000, late));
  }
}
