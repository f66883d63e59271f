import { LinkedList, type ListNode } from '../linked-list.ts';
import { Bulkhead, type BulkheadOptions, type Hold } from '../resilience/bulkhead.ts';

/** A request for a resource. */
export interface PoolRequest<Resource> {
  /** The caller that it is for: callers are served round-robin. */
  readonly caller: string;
  /** The REST operation that the resource is for: see Bulkhead. */
  readonly operation: string;
  /** Whether this resource suits the request. */
  suits(resource: Resource): boolean;
  /**
   * Called when the request gets the resource, at `now` in milliseconds of performance.now(); it has to `release` it.
   */
  onAcquired(resource: Resource, now: number): void;
}

interface Caller<Resource> {
  readonly id: string;
  /** When the caller was last served, or began to wait: the lowest is next. */
  turn: number;
  readonly queues: Map<OperationState<Resource>, Queue<Resource>>;
}

/** A caller's waiting requests for one operation; it exists while any request waits. */
interface Queue<Resource> {
  readonly caller: Caller<Resource>;
  readonly operation: OperationState<Resource>;
  readonly requests: LinkedList<PoolRequest<Resource>>;
  /** Its position among the operation's queues; null once it is empty. */
  position: ListNode<Queue<Resource>> | null;
}

/** An operation: the resources it holds, and the queues for it, in the order of their turns. */
interface OperationState<Resource> {
  /** How many wait, and how many have had to. */
  waiting: number;
  waits: number;
  readonly bulkhead: Bulkhead;
  readonly queues: LinkedList<Queue<Resource>>;
}

/** A waiting request, for `cancel`. */
export interface QueuedRequest<Resource> {
  readonly queue: Queue<Resource>;
  readonly node: ListNode<PoolRequest<Resource>>;
}

/** The places of one operation, for metrics. */
export interface OperationUsage {
  readonly operation: string;
  readonly taken: number;
  /** How many requests wait, and how many have had to so far. */
  readonly waiting: number;
  readonly waits: number;
}

export interface FairPoolOptions {
  /** The share of the resources that one operation may hold while others wait, above 0; 1 for all. */
  readonly share: number;
  /**
   * Up to this time a resource is held quickly, and beyond the other one slowly, however long others take; in
   * milliseconds.
   */
  readonly quickMs: number;
  readonly slowMs: number;
}

/**
 * Limits how many requests hold a resource at the same time. Waiting requests are served round-robin by caller, so that
 * a caller with a thousand requests delays only themselves. Requests whose operation is held back by its bulkhead are
 * skipped.
 *
 * A released resource goes at once to the next waiting request. Otherwise it becomes idle; the most recently used idle
 * one is reused first. If no idle one suits a request, it gets a new one or, at the maximum, the least recently used
 * one.
 */
export class FairPool<Resource> {
  readonly #max: number;
  readonly #create: () => Resource;
  readonly #bulkheadOptions: BulkheadOptions;
  readonly #bulkheads: Bulkhead[] = [];
  readonly #idle: Resource[] = [];
  #created = 0;
  #rotation = 0;
  #waiting = 0;
  /** Bounded: the contract has a fixed number of operations. */
  readonly #operations = new Map<string, OperationState<Resource>>();
  /** The callers with waiting requests. */
  readonly #callers = new Map<string, Caller<Resource>>();
  /** The current or last hold of each resource. */
  readonly #holds = new Map<
    Resource,
    { readonly operation: OperationState<Resource>; readonly hold: Hold }
  >();

  /** At most `max` resources, each created when it is first needed. */
  constructor(max: number, create: () => Resource, { share, quickMs, slowMs }: FairPoolOptions) {
    this.#max = max;
    this.#create = create;
    // A quarter and a half of what is beyond the share: with a share of one half, an eighth and a quarter of all.
    const beyond = max * (1 - share);
    this.#bulkheadOptions = {
      share: Math.max(1, Math.floor(max * share)),
      reserves: [0, Math.round(beyond / 4), Math.ceil(beyond / 2)],
      quickMs,
      slowMs,
    };
  }

  /** Serves the request at once and returns null if a resource is free for it; otherwise the request waits. */
  acquire(request: PoolRequest<Resource>, now = performance.now()): QueuedRequest<Resource> | null {
    const operation = this.#operationOf(request.operation);
    operation.bulkhead.noteUse(now);
    // Requests that already wait for this operation are held back as well, so none of them is overtaken.
    if (operation.bulkhead.admits(operation.bulkhead.pressure(now), this.#places)) {
      this.#grant(request, operation, now);
      return null;
    }
    const queue = this.#queueOf(request.caller, operation);
    this.#waiting++;
    operation.waiting++;
    operation.waits++;
    return { queue, node: queue.requests.append(request) };
  }

  /** Returns a resource. To be called once. */
  release(resource: Resource): void {
    const now = performance.now();
    const held = this.#holds.get(resource);
    held?.operation.bulkhead.release(held.hold, now);
    this.#idle.push(resource);
    while (this.#waiting > 0) {
      const queue = this.#next(now);
      const node = queue?.requests.first;
      if (!queue || !node) return;
      this.#takeTurn(queue.caller);
      this.cancel({ queue, node });
      this.#grant(node.value, queue.operation, now);
    }
  }

  /** Removes a waiting request. */
  cancel({ queue, node }: QueuedRequest<Resource>): void {
    const { caller, operation, requests } = queue;
    this.#waiting--;
    operation.waiting--;
    requests.remove(node);
    if (requests.first !== null || queue.position === null) return;
    operation.queues.remove(queue.position);
    queue.position = null;
    caller.queues.delete(operation);
    if (caller.queues.size === 0) this.#callers.delete(caller.id);
  }

  /** What each operation that was ever called holds and waits for. */
  get usage(): OperationUsage[] {
    return [...this.#operations].map(([operation, { bulkhead, waiting, waits }]) => ({
      operation,
      taken: bulkhead.held,
      waiting,
      waits,
    }));
  }

  /** How many places are free, or were never used. */
  get #places(): number {
    return this.#idle.length + this.#max - this.#created;
  }

  #grant(request: PoolRequest<Resource>, operation: OperationState<Resource>, now: number): void {
    const resource = this.#take(request);
    this.#holds.set(resource, { operation, hold: operation.bulkhead.hold(now) });
    request.onAcquired(resource, now);
  }

  #take(request: PoolRequest<Resource>): Resource {
    const idle = this.#idle;
    const last = idle.at(-1);
    // The usual case: any of them suits.
    if (last !== undefined && request.suits(last)) {
      idle.pop();
      return last;
    }
    const at = idle.findLastIndex((resource) => request.suits(resource));
    if (at === -1 && this.#created < this.#max) {
      this.#created++;
      return this.#create();
    }
    const [resource] = idle.splice(Math.max(0, at), 1);
    if (resource === undefined) throw new Error('A request was served although no resource is free');
    return resource;
  }

  /** The queue whose turn it is: operations that are quick and below their share first, then callers round-robin. */
  #next(now: number): Queue<Resource> | null {
    let next: Queue<Resource> | null = null;
    let least = 2;
    for (const operation of this.#operations.values()) {
      const queue = operation.queues.first?.value;
      if (queue === undefined) continue;
      const pressure = operation.bulkhead.pressure(now);
      if (pressure > least || !operation.bulkhead.admits(pressure, this.#places)) continue;
      if (next !== null && pressure === least && queue.caller.turn > next.caller.turn) continue;
      next = queue;
      least = pressure;
    }
    return next;
  }

  /** Moves a caller that was served behind all others, in all of its queues. */
  #takeTurn(caller: Caller<Resource>): void {
    caller.turn = ++this.#rotation;
    for (const queue of caller.queues.values()) {
      if (queue.position === null) continue;
      queue.operation.queues.remove(queue.position);
      queue.position = queue.operation.queues.append(queue);
    }
  }

  #operationOf(id: string): OperationState<Resource> {
    let operation = this.#operations.get(id);
    if (operation === undefined) {
      const bulkhead = new Bulkhead(this.#bulkheadOptions, this.#bulkheads);
      this.#bulkheads.push(bulkhead);
      operation = { bulkhead, queues: new LinkedList(), waiting: 0, waits: 0 };
      this.#operations.set(id, operation);
    }
    return operation;
  }

  #queueOf(callerId: string, operation: OperationState<Resource>): Queue<Resource> {
    let caller = this.#callers.get(callerId);
    if (caller === undefined) {
      caller = { id: callerId, turn: ++this.#rotation, queues: new Map() };
      this.#callers.set(callerId, caller);
    }
    let queue = caller.queues.get(operation);
    if (queue === undefined) {
      queue = { caller, operation, requests: new LinkedList(), position: null };
      queue.position = operation.queues.append(queue);
      caller.queues.set(operation, queue);
    }
    return queue;
  }
}
