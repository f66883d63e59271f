import { Bulkhead, type BulkheadOptions, type Hold } from './bulkhead.ts';
import { Chain, type Link } from './chain.ts';

/** One who wants a place. */
export interface Visitor<Place> {
  /** Who visitors are let in for by turns. */
  readonly caller: string;
  /** The REST operation that the place is for: see Bulkhead. */
  readonly operation: string;
  /** Whether this place is as good for the visitor as any. */
  suits(place: Place): boolean;
  /** The place is the visitor's from `now` on, in milliseconds of performance.now(), until it is given back with `leave`. */
  enter(place: Place, now: number): void;
}

interface Caller<Place> {
  readonly id: string;
  /** When it was its turn last, or when it began to wait: the lowest is next. */
  turn: number;
  readonly queues: Map<OperationState<Place>, Queue<Place>>;
}

/** A caller's visitors that wait for places for one operation; there is one while any does. */
interface Queue<Place> {
  readonly caller: Caller<Place>;
  readonly operation: OperationState<Place>;
  readonly visitors: Chain<Visitor<Place>>;
  /** Where it stands among the operation's queues; null where nobody waits in it any more. */
  place: Link<Queue<Place>> | null;
}

/** An operation: what it holds, and who waits for it, in the order of their turns. */
interface OperationState<Place> {
  readonly bulkhead: Bulkhead;
  readonly queues: Chain<Queue<Place>>;
}

/** One that waits, for `giveUp`. */
export interface Wait<Place> {
  readonly queue: Queue<Place>;
  readonly link: Link<Visitor<Place>>;
}

export interface TurnstileOptions {
  /** The share of the places that one operation may have while others wait, above 0; 1 for all. */
  readonly share: number;
  /** How long a quick visit takes at most, in milliseconds. */
  readonly quickMs: number;
}

/** An operation is alone where no other was called for so long, in milliseconds. */
const aloneMs = 10_000;

/**
 * Bounds how many are under way: each has a place. Those that wait are let in caller by caller, in turn: one who asks for
 * a thousand things waits for himself. Callers whose operation is held back by its bulkhead are passed over.
 *
 * A place that is given back goes to the next in the same moment, and else to the one that comes next: what was used last
 * is used first. Where none of those that are free suits the visitor, it is a new one, or the one that was not used for
 * longest.
 */
export class Turnstile<Place> {
  readonly #most: number;
  readonly #make: () => Place;
  readonly #bulkheads: BulkheadOptions;
  readonly #free: Place[] = [];
  #made = 0;
  #turns = 0;
  #waiting = 0;
  /** There are as many as the contract has, and no more. */
  readonly #operations = new Map<string, OperationState<Place>>();
  /** Those that wait. */
  readonly #callers = new Map<string, Caller<Place>>();
  /** The operation that was asked for last, and when; and when another one was. */
  #lastOperation: OperationState<Place> | null = null;
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastOtherAt = Number.NEGATIVE_INFINITY;
  /** Who has a place, or had it last. */
  readonly #holds = new Map<Place, { readonly operation: OperationState<Place>; readonly hold: Hold }>();

  /** `most` places, each made when it is needed first. */
  constructor(most: number, make: () => Place, { share, quickMs }: TurnstileOptions) {
    this.#most = most;
    this.#make = make;
    // A reserve of a quarter of what is beyond the share: an eighth of all where the share is half.
    const reserve = Math.round((most * (1 - share)) / 4);
    this.#bulkheads = { share: Math.max(1, Math.floor(most * share)), reserve, quickMs };
  }

  /** Lets in at once where a place is free for the visitor, and answers null; else the visitor waits. */
  enter(visitor: Visitor<Place>, now = performance.now()): Wait<Place> | null {
    const operation = this.#operationOf(visitor.operation);
    this.#noteUse(operation, now);
    // Whoever waits for the same operation is held back as well, so that nobody is overtaken.
    if (operation.bulkhead.admits(this.#pressureOf(operation, now), this.#places)) {
      this.#letIn(visitor, operation, now);
      return null;
    }
    const queue = this.#queueOf(visitor.caller, operation);
    this.#waiting++;
    return { queue, link: queue.visitors.add(visitor) };
  }

  /** Gives a place back, once. */
  leave(place: Place): void {
    const now = performance.now();
    const held = this.#holds.get(place);
    held?.operation.bulkhead.release(held.hold, now);
    this.#free.push(place);
    while (this.#waiting > 0) {
      const queue = this.#next(now);
      const link = queue?.visitors.first;
      if (!queue || !link) return;
      this.#takeTurn(queue.caller);
      this.giveUp({ queue, link });
      this.#letIn(link.value, queue.operation, now);
    }
  }

  /** Who waits, waits no longer. */
  giveUp({ queue, link }: Wait<Place>): void {
    const { caller, operation, visitors } = queue;
    this.#waiting--;
    visitors.remove(link);
    if (visitors.first !== null || queue.place === null) return;
    operation.queues.remove(queue.place);
    queue.place = null;
    caller.queues.delete(operation);
    if (caller.queues.size === 0) this.#callers.delete(caller.id);
  }

  /** How many places are free, or were never used. */
  get #places(): number {
    return this.#free.length + this.#most - this.#made;
  }

  #letIn(visitor: Visitor<Place>, operation: OperationState<Place>, now: number): void {
    const place = this.#take(visitor);
    this.#holds.set(place, { operation, hold: operation.bulkhead.hold(now) });
    visitor.enter(place, now);
  }

  #take(visitor: Visitor<Place>): Place {
    const free = this.#free;
    const last = free.at(-1);
    // The usual case: any of them suits.
    if (last !== undefined && visitor.suits(last)) {
      free.pop();
      return last;
    }
    const at = free.findLastIndex((place) => visitor.suits(place));
    if (at === -1 && this.#made < this.#most) {
      this.#made++;
      return this.#make();
    }
    const [place] = free.splice(Math.max(0, at), 1);
    if (place === undefined) throw new Error('A visitor was let in although no place is free');
    return place;
  }

  /** Whose turn it is: operations that are quick and below their share first, and then callers by turns. */
  #next(now: number): Queue<Place> | null {
    let next: Queue<Place> | null = null;
    let least = 2;
    for (const operation of this.#operations.values()) {
      const queue = operation.queues.first?.value;
      if (queue === undefined) continue;
      const pressure = this.#pressureOf(operation, now);
      if (pressure > least || !operation.bulkhead.admits(pressure, this.#places)) continue;
      if (next !== null && pressure === least && queue.caller.turn > next.caller.turn) continue;
      next = queue;
      least = pressure;
    }
    return next;
  }

  /** The caller was served, and is behind all others now, whatever it waits for. */
  #takeTurn(caller: Caller<Place>): void {
    caller.turn = ++this.#turns;
    for (const queue of caller.queues.values()) {
      if (queue.place === null) continue;
      queue.operation.queues.remove(queue.place);
      queue.place = queue.operation.queues.add(queue);
    }
  }

  #noteUse(operation: OperationState<Place>, now: number): void {
    if (operation !== this.#lastOperation) this.#lastOtherAt = this.#lastAt;
    this.#lastOperation = operation;
    this.#lastAt = now;
  }

  #pressureOf(operation: OperationState<Place>, now: number): 0 | 1 | 2 {
    const otherAt = operation === this.#lastOperation ? this.#lastOtherAt : this.#lastAt;
    return operation.bulkhead.pressure(now, now - otherAt > aloneMs);
  }

  #operationOf(id: string): OperationState<Place> {
    let operation = this.#operations.get(id);
    if (operation === undefined) {
      operation = { bulkhead: new Bulkhead(this.#bulkheads), queues: new Chain() };
      this.#operations.set(id, operation);
    }
    return operation;
  }

  #queueOf(callerId: string, operation: OperationState<Place>): Queue<Place> {
    let caller = this.#callers.get(callerId);
    if (caller === undefined) {
      caller = { id: callerId, turn: ++this.#turns, queues: new Map() };
      this.#callers.set(callerId, caller);
    }
    let queue = caller.queues.get(operation);
    if (queue === undefined) {
      queue = { caller, operation, visitors: new Chain(), place: null };
      queue.place = operation.queues.add(queue);
      caller.queues.set(operation, queue);
    }
    return queue;
  }
}
