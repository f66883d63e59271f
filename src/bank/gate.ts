import { getOrMake } from '../get-or-make.ts';
import type { Caller } from '../load/callers.ts';
import { uses } from '../load/capacity.ts';

/** A call that asks the gate for permission to start. */
export interface GateEntry {
  /** The bank operation of the call. */
  readonly operation: { readonly id: string };
  /**
   * Set by the gate: the queues in which the call waits, one for each caller that needs its answer; empty if
   * it does not wait.
   */
  waitsFor: readonly CallerQueue[];
  /** Set by the gate: the counts that include the call while it is in progress. */
  places: readonly Count[];
  /** Set by the gate before the call enters: the caller for whom the call counts. */
  countedAs: Caller;
  /** Called when the call may start. The call must call `leave` at its end. Should not throw. */
  enter(): void;
  /** Called if too many calls wait. The call does not wait for this caller any more, but still for its other callers. */
  refuse(caller: Caller): void;
}

/**
 * Counts the calls in progress and the waiting calls of one kind, such as those of a caller or of a bank operation. Each call
 * is in several counts.
 */
class Count {
  taken = 0;
  waiting = 0;
  /** The number of calls that have had to wait so far. */
  waits = 0;
  readonly most: number;

  constructor(most: number) {
    this.most = most;
  }
}

/** The counts of a bank operation, for metrics. */
export interface OperationUsage extends Pick<Count, 'taken' | 'waiting' | 'waits'> {
  readonly operation: string;
}

/** A verified caller alone, or all unverified callers of one network address together. */
interface Group {
  readonly count: Count;
  /** The group's calls by bank operation. Null for a verified caller: only the operation's limit for all callers applies. */
  readonly operations: Map<string, Count> | null;
  /** The waiting callers; the first one is served next. */
  readonly waiting: Set<CallerQueue>;
}

/** The calls of one caller, kept for as long as the caller is known. */
interface CallerQueue {
  readonly caller: Caller;
  readonly group: Group;
  readonly count: Count;
  /** The counts that include a call of the caller, by bank operation. */
  readonly places: Map<string, readonly Count[]>;
  /** The waiting calls by bank operation, in the order of their arrival; the first operation is served next. */
  readonly waiting: Map<string, Set<GateEntry>>;
}

interface GateOptions {
  /** The maximum number of calls in progress. */
  readonly max: number;
  /**
   * The maximum number of waiting calls. A call that several callers wait for counts once for each of them.
   */
  readonly maxWaiting: number;
}

/** The share of all calls in progress that one caller, or all unverified callers of one network address, may have. */
const { cap: callerShare } = uses.connections;
/**
 * The share of all calls in progress that one bank operation may have. It is above a caller's share, so that one caller cannot
 * block an operation, and below 1, so that other operations continue.
 */
const operationShare = 3 / 4;
const done = Promise.resolve();

/**
 * Whether any operation has waiting calls and is below its limit. If not, the waiting calls need not be
 * examined.
 */
function mayFit(operations: ReadonlyMap<string, Count>): boolean {
  for (const { waiting, taken, most } of operations.values()) if (waiting > 0 && taken < most) return true;
  return false;
}

/** The waiting call that the caller loses: the newest call of the bank operation whose turn comes last. */
function lastOf({ waiting }: CallerQueue): GateEntry {
  const [entries = new Set<GateEntry>()] = [...waiting.values()].slice(-1);
  const [last] = [...entries].slice(-1);
  if (last === undefined) throw new Error('the caller waits for no call');
  return last;
}

/**
 * Limits the calls in progress. Calls wait here and not in undici's queue, because a request there cannot be cancelled. One
 * caller may have half of the calls, and so may all unverified callers of one network address together. One bank operation may
 * have three quarters of all calls, and three quarters of an address's half: behind a load balancer, all callers share one
 * address.
 *
 * Other calls wait until they are let through, or are cancelled at their deadline. Groups are served in turn, then the callers
 * of a group, then the operations of a caller. If too many calls wait, the caller with the most waiting calls loses one.
 *
 * Several callers may wait for one call. It is let through in the first turn of any of them, and counts for that caller.
 */
export class Gate {
  readonly #all: Count;
  readonly #maxWaiting: number;
  readonly #mostOfOperation: number;
  readonly #mostOfCaller: number;
  readonly #mostOfOperationOfGroup: number;
  /** This map needs no limit, because the contract has a fixed number of operations. */
  readonly #operations = new Map<string, Count>();
  readonly #queues = new WeakMap<Caller, CallerQueue>();
  /** The groups by verified caller, or by the network address of unverified callers. */
  readonly #groups = new WeakMap<Caller, Group>();
  /** The groups with waiting calls; the first one is served next. */
  readonly #waiting = new Set<Group>();
  #isServing = false;
  #isFreed = false;

  constructor({ max, maxWaiting }: GateOptions) {
    const partOf = (most: number, share: number) => Math.max(1, Math.floor(most * share));
    this.#all = new Count(max);
    this.#maxWaiting = maxWaiting;
    this.#mostOfOperation = partOf(max, operationShare);
    this.#mostOfCaller = partOf(max, callerShare);
    this.#mostOfOperationOfGroup = partOf(this.#mostOfCaller, operationShare);
  }

  get usage(): readonly OperationUsage[] {
    return Array.from(this.#operations, ([operation, { taken, waiting, waits }]) => {
      return { operation, taken, waiting, waits };
    });
  }

  /** The number of calls in progress. */
  get held(): number {
    return this.#all.taken;
  }

  /** Lets a call through at once, or queues it. A call that fits overtakes nobody, because no waiting call fits. */
  ask(entry: GateEntry, caller: Caller): void {
    const queue = this.#queueOf(caller);
    if (!this.#letThrough(entry, queue)) this.#enqueue(entry, queue);
  }

  /** Adds a caller to a waiting call. The call is let through at once if it fits as a call of this caller. */
  join(entry: GateEntry, caller: Caller): void {
    if (entry.waitsFor.length > 0) this.ask(entry, caller);
  }

  /** Removes a caller from a waiting call. */
  part(entry: GateEntry, caller: Caller): void {
    const queue = entry.waitsFor.find((waiting) => waiting.caller === caller);
    if (queue !== undefined) this.#dequeue(entry, queue);
  }

  /** Removes a call for which nobody waits any more. Returns whether it was waiting. */
  cancel(entry: GateEntry): boolean {
    const { waitsFor } = entry;
    for (const queue of waitsFor) this.#dequeue(entry, queue);
    return waitsFor.length > 0;
  }

  /**
   * Called when a call that was let through has ended; calling it again does nothing. `isFreeSoon`: undici frees the connection
   * only in a later setImmediate, and a waiting call that started before that would open another connection.
   */
  leave(entry: GateEntry, isFreeSoon = false): void {
    const { places } = entry;
    if (places.length === 0) return;
    entry.places = [];
    if (isFreeSoon && this.#waiting.size > 0) void done.then(() => setImmediate(() => this.#free(places)));
    else this.#free(places);
  }

  #free(places: readonly Count[]): void {
    for (const count of places) count.taken--;
    if (this.#waiting.size > 0) this.#serve();
  }

  /** Lets a call through if it fits as a call of this caller. Returns whether the call was let through. */
  #letThrough(entry: GateEntry, queue: CallerQueue): boolean {
    const places = this.#placesOf(entry.operation.id, queue);
    for (const { taken, most } of places) if (taken >= most) return false;
    for (const count of places) count.taken++;
    if (entry.waitsFor.length > 0) this.cancel(entry);
    entry.places = places;
    entry.countedAs = queue.caller;
    try {
      entry.enter();
    } catch (error) {
      this.leave(entry);
      throw error;
    }
    return true;
  }

  /** The counts that include a call of this operation and caller. */
  #placesOf(operation: string, queue: CallerQueue): readonly Count[] {
    return queue.places.get(operation) ?? this.#newPlaces(operation, queue);
  }

  #newPlaces(operation: string, queue: CallerQueue): readonly Count[] {
    const { count, group } = queue;
    const places = [this.#all, this.#operationOf(operation), count];
    if (group.operations !== null) {
      const most = this.#mostOfOperationOfGroup;
      places.push(
        group.count,
        getOrMake(group.operations, operation, () => new Count(most)),
      );
    }
    queue.places.set(operation, places);
    return places;
  }

  #operationOf(operation: string): Count {
    return getOrMake(this.#operations, operation, () => new Count(this.#mostOfOperation));
  }

  #queueOf(caller: Caller): CallerQueue {
    return this.#queues.get(caller) ?? this.#newQueue(caller);
  }

  #newQueue(caller: Caller): CallerQueue {
    const most = this.#mostOfCaller;
    const group = getOrMake(this.#groups, caller.peer ?? caller, () => ({
      count: new Count(most),
      operations: caller.peer === null ? null : new Map<string, Count>(),
      waiting: new Set<CallerQueue>(),
    }));
    const queue = { caller, group, count: new Count(most), places: new Map(), waiting: new Map() };
    this.#queues.set(caller, queue);
    caller.calls.push(queue.count);
    return queue;
  }

  #enqueue(entry: GateEntry, queue: CallerQueue): void {
    const { waitsFor } = entry;
    const operation = entry.operation.id;
    if (waitsFor.includes(queue)) return;
    for (const count of this.#placesOf(operation, queue)) count.waiting++;
    const ofOperation = this.#operationOf(operation);
    if (waitsFor.length === 0) ofOperation.waits++;
    // The operation counts a call once, however many callers wait for it.
    else ofOperation.waiting--;
    entry.waitsFor = [...waitsFor, queue];
    getOrMake(queue.waiting, operation, () => new Set()).add(entry);
    queue.group.waiting.add(queue);
    this.#waiting.add(queue.group);
    if (this.#all.waiting > this.#maxWaiting) this.#refuseOne(entry, queue);
  }

  #dequeue(entry: GateEntry, queue: CallerQueue): void {
    const operation = entry.operation.id;
    const entries = queue.waiting.get(operation);
    if (!entries?.delete(entry)) return;
    for (const count of this.#placesOf(operation, queue)) count.waiting--;
    entry.waitsFor = entry.waitsFor.filter((waiting) => waiting !== queue);
    // Another caller still waits, so the operation still counts the call as waiting.
    if (entry.waitsFor.length > 0) this.#operationOf(operation).waiting++;
    const { group } = queue;
    if (entries.size === 0) queue.waiting.delete(operation);
    if (queue.waiting.size === 0) group.waiting.delete(queue);
    if (group.waiting.size === 0) this.#waiting.delete(group);
  }

  /** Refuses a call of the caller with the most waiting calls. If the asking caller has as many, the asking call is refused. */
  #refuseOne(asking: GateEntry, askingQueue: CallerQueue): void {
    let longest = askingQueue;
    for (const group of this.#waiting)
      for (const queue of group.waiting) if (queue.count.waiting > longest.count.waiting) longest = queue;
    const entry = longest === askingQueue ? asking : lastOf(longest);
    this.#dequeue(entry, longest);
    entry.refuse(longest.caller);
  }

  /**
   * Lets waiting calls through in turn, as long as any fits. A call that fails at once calls this method again, which then only
   * sets `#isFreed`: the outer loop continues without recursion. An error of `enter` is thrown after all others have been
   * served.
   */
  #serve(): void {
    this.#isFreed = true;
    if (this.#isServing) return;
    this.#isServing = true;
    const errors: unknown[] = [];
    while (this.#isFreed && mayFit(this.#operations)) {
      this.#isFreed = false;
      for (const group of this.#waiting) {
        const { count, operations } = group;
        if (this.#all.taken >= this.#all.most) break;
        if (count.taken >= count.most || !mayFit(operations ?? this.#operations)) continue;
        try {
          // The group moves to the end: other groups are served before its next call.
          if (this.#serveOne(group) && this.#waiting.delete(group)) this.#waiting.add(group);
        } catch (error) {
          errors.push(error);
        }
      }
    }
    this.#isServing = false;
    if (errors.length > 0) throw errors[0];
  }

  /** Lets the first fitting call of a group through. Returns whether there was one. */
  #serveOne(group: Group): boolean {
    for (const queue of group.waiting) {
      if (queue.count.taken >= queue.count.most) continue;
      for (const [operation, entries] of queue.waiting) {
        const [entry] = entries;
        if (entry === undefined || !this.#letThrough(entry, queue)) continue;
        if (queue.waiting.delete(operation)) queue.waiting.set(operation, entries);
        if (group.waiting.delete(queue)) group.waiting.add(queue);
        return true;
      }
    }
    return false;
  }
}
