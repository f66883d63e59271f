import { uses } from '../capacity.ts';
import { getOrMake } from '../get-or-make.ts';
import type { Identity } from './credentials.ts';

/** A call in front of the gate. */
export interface GateCall {
  readonly caller: Identity;
  /** The id of its bank operation. */
  readonly operation: string;
  /** The GraphQL operation that it belongs to, if any. */
  readonly session: { isServed: boolean } | null;
  /** Set by the gate: the calls that it waits among; null if it does not wait. */
  waiting: Waiting | null;
  /** Called once it may go; it has to `leave`. */
  enter(): void;
  /** Called if it has waited for too long. */
  refuse(): void;
}

/** The calls of one bank operation, for metrics. */
export interface OperationUsage {
  readonly operation: string;
  readonly taken: number;
  /** How many calls wait, and how many have had to so far. */
  readonly waiting: number;
  readonly waits: number;
}

interface GateOptions {
  /** How many calls may be under way at the same time. */
  readonly max: number;
  /** How long a call waits for its turn, in milliseconds; without end once another call of its session was served. */
  readonly waitMs: number;
}

/** The part of the calls that one caller, or all unproven callers of one peer, may have under way. */
const { cap: callerShare } = uses.connections;
/**
 * The part of the calls that one bank operation may have under way: more than a caller's share, so that one caller cannot use all
 * of it, and less than all, so that other operations continue.
 */
const operationShare = 3 / 4;
/** The number of callers and peers without a call that are remembered. */
const maxIdle = 1000;

/** The calls that a caller, or a peer, has under way. */
interface Held {
  calls: number;
  readonly byOperation: Map<string, number>;
}

type Counts = { -readonly [Key in keyof OperationUsage]: OperationUsage[Key] };

/** Calls of one bank operation that wait: those of the unproven callers of a peer, or those of one proven caller. */
interface Waiting {
  readonly key: string;
  readonly operation: string;
  readonly peer: string | null;
  /** By caller, in the order of their turns. */
  readonly callers: Map<string, Set<GateCall>>;
}

/** The peer of an unproven caller; null for a proven one. */
const peerOf = ({ name, group }: Identity): string | null => (group === name ? null : group);

/**
 * Limits the calls under way, because a request in undici's own queue cannot be cancelled. One caller, and the unproven callers of
 * one peer, have half of them at most. One bank operation has three quarters, of all and of a peer's half: behind a load balancer
 * that half is everybody's. Callers that wait are served in turn.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #mostOfCaller: number;
  readonly #mostOfOperation: number;
  readonly #mostOfOperationOfPeer: number;
  #free: number;
  /** By the name of a caller or a peer. */
  readonly #held = new Map<string, Held>();
  /** Bounded: the contract has a fixed number of operations. */
  readonly #operations = new Map<string, Counts>();
  /** The calls that wait, by bank operation and peer, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting>();
  /** The calls whose wait ends, each with the time at which it began to wait, the first one first. */
  readonly #expiring = new Map<GateCall, number>();
  #timer: NodeJS.Timeout | null = null;
  #isServing = false;
  #isFreed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#mostOfCaller = Math.max(1, Math.floor(options.max * callerShare));
    this.#mostOfOperation = Math.max(1, Math.floor(options.max * operationShare));
    this.#mostOfOperationOfPeer = Math.max(1, Math.floor(this.#mostOfCaller * operationShare));
    this.#free = options.max;
  }

  get usage(): readonly OperationUsage[] {
    return [...this.#operations.values()];
  }

  /** How many calls are under way. */
  get held(): number {
    return this.#options.max - this.#free;
  }

  /** Lets a call through at once, or lets it wait for its turn. */
  ask(call: GateCall): void {
    // If this call fits, no waiting call does, so it overtakes nobody.
    if (this.#fits(call)) this.#letThrough(call);
    else this.#enqueue(call);
  }

  /** A call that was let through has ended. */
  leave({ caller: { name, group }, operation }: GateCall): void {
    this.#free++;
    this.#usageOf(operation).taken--;
    this.#hold(name, operation, -1);
    if (group !== name) this.#hold(group, operation, -1);
    if (this.#waiting.size > 0) this.#serve();
  }

  /** Forgets a call that waits. Returns whether it did. */
  cancel(call: GateCall): boolean {
    const { waiting, caller, operation } = call;
    if (waiting === null) return false;
    call.waiting = null;
    this.#expiring.delete(call);
    const calls = waiting.callers.get(caller.name);
    calls?.delete(call);
    if (calls?.size === 0) waiting.callers.delete(caller.name);
    if (waiting.callers.size === 0) this.#waiting.delete(waiting.key);
    this.#usageOf(operation).waiting--;
    return true;
  }

  #fits({ caller, operation }: GateCall): boolean {
    return this.#hasRoom(operation, peerOf(caller)) && this.#hasShare(caller.name);
  }

  /** Whether a call of an operation may go, if its caller has less than its share. */
  #hasRoom(operation: string, peer: string | null): boolean {
    if (this.#free === 0 || this.#usageOf(operation).taken >= this.#mostOfOperation) return false;
    const held = peer === null ? undefined : this.#held.get(peer);
    if (held === undefined) return true;
    return (
      held.calls < this.#mostOfCaller && (held.byOperation.get(operation) ?? 0) < this.#mostOfOperationOfPeer
    );
  }

  #hasShare(name: string): boolean {
    return (this.#held.get(name)?.calls ?? 0) < this.#mostOfCaller;
  }

  #letThrough(call: GateCall): void {
    const { caller, operation, session } = call;
    const { name, group } = caller;
    this.#free--;
    this.#usageOf(operation).taken++;
    this.#hold(name, operation, 1);
    if (group !== name) this.#hold(group, operation, 1);
    if (session !== null) session.isServed = true;
    call.enter();
  }

  #hold(name: string, operation: string, more: 1 | -1): void {
    let held = this.#held.get(name);
    if (held === undefined) {
      held = { calls: 0, byOperation: new Map() };
      this.#held.set(name, held);
    }
    held.calls += more;
    held.byOperation.set(operation, (held.byOperation.get(operation) ?? 0) + more);
    // Idle callers are not deleted at once: a Map that grows and shrinks with each call leaves garbage behind.
    if (held.calls === 0 && this.#held.size > maxIdle) this.#held.delete(name);
  }

  #usageOf(operation: string) {
    let usage = this.#operations.get(operation);
    if (usage === undefined) {
      usage = { operation, taken: 0, waiting: 0, waits: 0 };
      this.#operations.set(operation, usage);
    }
    return usage;
  }

  #enqueue(call: GateCall): void {
    const { caller, operation, session } = call;
    const peer = peerOf(caller);
    const key = `${operation} ${peer ?? `caller ${caller.name}`}`;
    call.waiting = getOrMake(this.#waiting, key, () => ({ key, operation, peer, callers: new Map() }));
    getOrMake(call.waiting.callers, caller.name, () => new Set()).add(call);
    const usage = this.#usageOf(operation);
    usage.waiting++;
    usage.waits++;
    if (session?.isServed) return;
    this.#expiring.set(call, performance.now());
    this.#timer ??= this.#expireIn(this.#options.waitMs);
  }

  /** One timer for all calls, because they wait equally long. After a pause of the event loop, ended calls are noticed first. */
  #expireIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#expire()), milliseconds).unref();
  }

  #expire(): void {
    this.#timer = null;
    const now = performance.now();
    for (const [call, since] of this.#expiring) {
      const left = since + this.#options.waitMs - now;
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
        if (this.#free === 0) break;
        // The operation goes to the end, so that the others are served before its next call.
        const isServed = this.#serveOne(waiting);
        if (isServed && this.#waiting.size > 1 && this.#waiting.delete(key)) this.#waiting.set(key, waiting);
      }
    }
    this.#isServing = false;
  }

  /** Lets the first call through that fits. Returns whether there was one. */
  #serveOne({ operation, peer, callers }: Waiting): boolean {
    if (!this.#hasRoom(operation, peer)) return false;
    for (const [name, calls] of callers) {
      const [call] = calls.keys();
      if (call === undefined || !this.#hasShare(name)) continue;
      this.cancel(call);
      if (callers.size > 1 && callers.delete(name)) callers.set(name, calls);
      this.#letThrough(call);
      return true;
    }
    return false;
  }
}
