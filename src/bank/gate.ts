import { uses } from '../capacity.ts';
import type { Identity } from './credentials.ts';

/** A call that asks to be let through. */
export interface GateCall {
  readonly caller: Identity;
  /** The id of its bank operation. */
  readonly operation: string;
  /** The GraphQL operation that it belongs to, if any. */
  readonly session: { isServed: boolean } | null;
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
/** That of one bank operation: more, so that one caller cannot have all of it, and less than all, for the other operations. */
const operationShare = 3 / 4;
/** How many callers and peers without a call stay known. */
const maxIdle = 1000;

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
  /** The calls under way, by caller, by peer, and by bank operation of a peer. */
  readonly #held = new Map<string, number>();
  /** Bounded: the contract has a fixed number of operations. */
  readonly #operations = new Map<string, { -readonly [Key in keyof OperationUsage]: OperationUsage[Key] }>();
  /** The calls that wait, by caller and bank operation; the callers in the order of their turns. */
  readonly #waiting = new Map<string, Map<string, Set<GateCall>>>();
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
    // A call that fits overtakes none: those that wait do not fit.
    if (this.#fits(call)) this.#letThrough(call);
    else this.#enqueue(call);
  }

  /** A call that was let through has ended. */
  leave({ caller: { name, group }, operation }: GateCall): void {
    this.#free++;
    this.#usageOf(operation).taken--;
    this.#hold(name, -1);
    if (group !== name) this.#holdOfPeer(operation, group, -1);
    if (this.#waiting.size > 0) this.#serve();
  }

  /** Forgets a call that waits. Returns whether it did. */
  cancel(call: GateCall): boolean {
    const { caller, operation } = call;
    const queues = this.#waiting.get(caller.name);
    const queue = queues?.get(operation);
    if (!queue?.delete(call)) return false;
    this.#usageOf(operation).waiting--;
    if (queue.size === 0) queues?.delete(operation);
    if (queues?.size === 0) this.#waiting.delete(caller.name);
    return true;
  }

  #fits({ caller: { name, group }, operation }: GateCall): boolean {
    if (this.#free === 0 || this.#usageOf(operation).taken >= this.#mostOfOperation) return false;
    if (!this.#holdsLess(name, this.#mostOfCaller)) return false;
    if (group === name) return true;
    return (
      this.#holdsLess(group, this.#mostOfCaller) &&
      this.#holdsLess(`${operation} ${group}`, this.#mostOfOperationOfPeer)
    );
  }

  #holdsLess(key: string, most: number): boolean {
    return (this.#held.get(key) ?? 0) < most;
  }

  #letThrough(call: GateCall): void {
    const { name, group } = call.caller;
    this.#free--;
    this.#usageOf(call.operation).taken++;
    this.#hold(name, 1);
    if (group !== name) this.#holdOfPeer(call.operation, group, 1);
    if (call.session !== null) call.session.isServed = true;
    call.enter();
  }

  #holdOfPeer(operation: string, peer: string, more: number): void {
    this.#hold(peer, more);
    this.#hold(`${operation} ${peer}`, more);
  }

  #hold(key: string, more: number): void {
    const held = (this.#held.get(key) ?? 0) + more;
    // A Map that grows and shrinks with each call leaves tables behind.
    if (held === 0 && this.#held.size > maxIdle) this.#held.delete(key);
    else this.#held.set(key, held);
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
    const queues = this.#waiting.get(caller.name) ?? new Map<string, Set<GateCall>>();
    this.#waiting.set(caller.name, queues);
    const queue = queues.get(operation) ?? new Set();
    queues.set(operation, queue.add(call));
    const usage = this.#usageOf(operation);
    usage.waiting++;
    usage.waits++;
    if (session?.isServed) return;
    const refuse = () => {
      if (!session?.isServed && this.cancel(call)) call.refuse();
    };
    // After a pause of the event loop, calls that have ended meanwhile are noticed first.
    setTimeout(() => setImmediate(refuse), this.#options.waitMs).unref();
  }

  /** Serves the callers in turn. A call that fails at once is noticed by the loop: it must not nest. */
  #serve(): void {
    this.#isFreed = true;
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#isFreed) {
      this.#isFreed = false;
      for (const [name, queues] of this.#waiting) {
        if (this.#free === 0) break;
        const call = this.#firstThatFits(queues);
        if (call === null) continue;
        this.cancel(call);
        // Its next call waits behind those of the others.
        if (this.#waiting.delete(name)) this.#waiting.set(name, queues);
        this.#letThrough(call);
      }
    }
    this.#isServing = false;
  }

  #firstThatFits(queues: Map<string, Set<GateCall>>): GateCall | null {
    for (const queue of queues.values())
      for (const call of queue)
        if (this.#fits(call)) return call;
        else break;
    return null;
  }
}
