import { getOrMake } from '../get-or-make.ts';
import { uses } from '../load/capacity.ts';
import type { Identity } from './credentials.ts';

/** A call that waits for a place, or has one. */
export interface GateEntry {
  /** Its bank operation. */
  readonly operation: { readonly id: string };
  /** When the call gives up, in milliseconds of performance.now(). */
  readonly deadline: number;
  /** The GraphQL operation that it belongs to, if any. */
  readonly session: { isServed: boolean } | null;
  /** The gate's own state of this entry; null outside of the gate. */
  gate: GateTicket | null;
  /** Called when the call has its place, which it has to `leave`. `caller`: under whose share it counts. */
  enter(caller: Identity): void;
  /** Called instead if it gets no place. Nothing was sent. */
  refuse(): void;
}

/** The gate's state of a call. */
export interface GateTicket {
  readonly caller: Identity;
  /** The group of calls that it waits in; null if it does not wait. */
  waiting: Waiting | null;
  /** The counts that include it while it is under way. */
  counts: readonly Count[];
}

/** The number of certain calls that are under way, and the most that may be. */
interface Count {
  taken: number;
  readonly most: number;
}

/** The calls of one bank operation. */
interface OperationCount extends Count {
  readonly operation: string;
  /** How many calls wait, and how many have had to so far. */
  waiting: number;
  waits: number;
}

/** The counts of a bank operation, for metrics. */
export type OperationUsage = Readonly<OperationCount>;

interface GateOptions {
  /** How many calls may be under way at the same time. */
  readonly max: number;
  /** How long a call waits, in milliseconds; without a limit once another call of its session was served. */
  readonly waitMs: number;
}

/** The part of the calls that one caller, or all unproven callers of one peer, may have under way. */
const { cap: callerShare } = uses.connections;
/**
 * The part of the calls that one bank operation may have under way: more than a caller's share, so that one caller cannot use all
 * of it, and less than all, so that other operations continue.
 */
const operationShare = 3 / 4;
/** If there are more callers and peers than this, those without a call are forgotten. */
const maxIdle = 1000;
const done = Promise.resolve();

/** Waiting calls of one bank operation, from all unproven callers of a peer or from one proven caller. */
interface Waiting {
  readonly key: string;
  readonly count: OperationCount;
  /** By caller; the first caller is served next. */
  readonly callers: Map<string, Set<GateEntry>>;
}

/**
 * Limits the calls in progress, because a request in undici's own queue cannot be cancelled. One caller has at most half of
 * them, and so have all unproven callers of one peer together. One bank operation has at most three quarters of all calls, and
 * three quarters of a peer's half: behind a load balancer, all callers share that half. Waiting callers are served in turn.
 */
export class Gate {
  readonly #waitMs: number;
  readonly #all: Count;
  readonly #mostOfOperation: number;
  readonly #mostOfCaller: number;
  readonly #mostOfOperationOfPeer: number;
  /** Bounded: the contract has a fixed number of operations. */
  readonly #operations = new Map<string, OperationCount>();
  /** By the name of a caller or a peer, and by a peer's name and an operation. */
  readonly #callers = new Map<string, Count>();
  #forgetAt = maxIdle;
  /** The waiting calls by bank operation and peer; the first group is served next. */
  readonly #waiting = new Map<string, Waiting>();
  /** The waiting calls with a limited wait, each with the time at which its wait began, oldest first. */
  readonly #expiring = new Map<GateEntry, number>();
  #timer: NodeJS.Timeout | null = null;
  #isServing = false;
  #isFreed = false;

  constructor({ max, waitMs }: GateOptions) {
    const partOf = (most: number, share: number) => Math.max(1, Math.floor(most * share));
    this.#waitMs = waitMs;
    this.#all = { taken: 0, most: max };
    this.#mostOfOperation = partOf(max, operationShare);
    this.#mostOfCaller = partOf(max, callerShare);
    this.#mostOfOperationOfPeer = partOf(this.#mostOfCaller, operationShare);
  }

  get usage(): readonly OperationUsage[] {
    return [...this.#operations.values()];
  }

  /** How many calls are under way. */
  get held(): number {
    return this.#all.taken;
  }

  /** Lets a call through at once, or queues it. */
  ask(call: GateEntry, caller: Identity): void {
    const ticket: GateTicket = { caller, waiting: null, counts: [] };
    call.gate = ticket;
    // If this call fits, no waiting call does, so it overtakes nobody.
    if (!this.#letThrough(call, ticket)) this.#enqueue(call, ticket);
  }

  join(_call: GateEntry, _caller: Identity): void {}
  part(_call: GateEntry, _caller: Identity): void {}

  /**
   * A call that was let through has ended. `isFreeSoon`: undici frees the connection later, by setImmediate. A waiting
   * call that starts earlier would open another connection.
   */
  leave(call: GateEntry, isFreeSoon = false): void {
    const { gate } = call;
    if (gate === null || gate.waiting !== null) return;
    call.gate = null;
    if (isFreeSoon && this.#waiting.size > 0) void done.then(() => setImmediate(() => this.#free(gate)));
    else this.#free(gate);
  }

  #free({ counts }: GateTicket): void {
    for (const count of counts) count.taken--;
    if (this.#waiting.size > 0) this.#serve();
  }

  /** Forgets a call that waits. Returns whether it did. */
  cancel(call: GateEntry): boolean {
    const { gate } = call;
    if (gate === null || gate.waiting === null) return false;
    call.gate = null;
    this.#removeWaiting(call, gate, gate.waiting);
    return true;
  }

  #removeWaiting(call: GateEntry, ticket: GateTicket, waiting: Waiting): void {
    const { caller } = ticket;
    ticket.waiting = null;
    this.#expiring.delete(call);
    const calls = waiting.callers.get(caller.name);
    calls?.delete(call);
    if (calls?.size === 0) waiting.callers.delete(caller.name);
    if (waiting.callers.size === 0) this.#waiting.delete(waiting.key);
    waiting.count.waiting--;
  }

  /** Lets a call through if it fits. Returns whether it did. */
  #letThrough(call: GateEntry, ticket: GateTicket): boolean {
    const counts = this.#countsOf(call, ticket);
    for (const { taken, most } of counts) if (taken >= most) return false;
    for (const count of counts) count.taken++;
    ticket.counts = counts;
    if (ticket.waiting !== null) this.#removeWaiting(call, ticket, ticket.waiting);
    if (call.session !== null) call.session.isServed = true;
    call.enter(ticket.caller);
    return true;
  }

  /** The counts that would include a call. */
  #countsOf(
    { operation: { id: operation } }: GateEntry,
    { caller: { name, group } }: GateTicket,
  ): readonly Count[] {
    // Idle callers are not deleted at once: a Map that grows and shrinks with each call leaves garbage behind.
    if (this.#callers.size > this.#forgetAt) this.#forgetIdle();
    const counts: Count[] = [
      this.#all,
      this.#operations.get(operation) ?? this.#newOperation(operation),
      this.#callers.get(name) ?? this.#newCount(name, this.#mostOfCaller),
    ];
    if (group === name) return counts;
    const ofBoth = `${group}\n${operation}`;
    counts.push(
      this.#callers.get(group) ?? this.#newCount(group, this.#mostOfCaller),
      this.#callers.get(ofBoth) ?? this.#newCount(ofBoth, this.#mostOfOperationOfPeer),
    );
    return counts;
  }

  #newOperation(operation: string): OperationCount {
    const count = { operation, taken: 0, most: this.#mostOfOperation, waiting: 0, waits: 0 };
    this.#operations.set(operation, count);
    return count;
  }

  #newCount(key: string, most: number): Count {
    const count = { taken: 0, most };
    this.#callers.set(key, count);
    return count;
  }

  #forgetIdle(): void {
    for (const [key, { taken }] of this.#callers) if (taken === 0) this.#callers.delete(key);
    this.#forgetAt = Math.max(maxIdle, 2 * this.#callers.size);
  }

  #enqueue(call: GateEntry, ticket: GateTicket): void {
    const {
      operation: { id: operation },
      session,
    } = call;
    const { name, group } = ticket.caller;
    const key = group === name ? `${operation} caller ${name}` : `${operation} ${group}`;
    const count = this.#operations.get(operation) ?? this.#newOperation(operation);
    ticket.waiting = getOrMake(this.#waiting, key, () => ({ key, count, callers: new Map() }));
    getOrMake(ticket.waiting.callers, name, () => new Set()).add(call);
    count.waiting++;
    count.waits++;
    if (session?.isServed) return;
    this.#expiring.set(call, performance.now());
    this.#timer ??= this.#expireIn(this.#waitMs);
  }

  /** One timer for all calls, because they wait equally long. After a pause of the event loop, ended calls are noticed first. */
  #expireIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#expire()), milliseconds).unref();
  }

  #expire(): void {
    this.#timer = null;
    const now = performance.now();
    for (const [call, since] of this.#expiring) {
      const left = since + this.#waitMs - now;
      if (left > 0) {
        this.#timer = this.#expireIn(left);
        return;
      }
      this.#expiring.delete(call);
      if (!call.session?.isServed && this.cancel(call)) call.refuse();
    }
  }

  /**
   * Serves the operations in turn, and the callers of each in turn. A call that fails at once calls this method again; the outer loop
   * then continues, so that the calls do not nest.
   */
  #serve(): void {
    this.#isFreed = true;
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#isFreed) {
      this.#isFreed = false;
      for (const [key, waiting] of this.#waiting) {
        if (this.#all.taken >= this.#all.most) break;
        // The operation moves to the end: other operations are served before its next call.
        const isServed = this.#serveOne(waiting);
        if (isServed && this.#waiting.size > 1 && this.#waiting.delete(key)) this.#waiting.set(key, waiting);
      }
    }
    this.#isServing = false;
  }

  /** Lets the first fitting call through. Returns whether there was one. */
  #serveOne({ callers }: Waiting): boolean {
    for (const [name, calls] of callers) {
      const [call] = calls;
      if (call === undefined || call.gate === null) continue;
      if (this.#letThrough(call, call.gate)) {
        if (callers.size > 1 && callers.delete(name)) callers.set(name, calls);
        return true;
      }
      // If the call does not fit although its caller has room, the operation or the peer has none: no other call fits either.
      const own = this.#callers.get(name);
      if (own === undefined || own.taken < own.most) return false;
    }
    return false;
  }
}
