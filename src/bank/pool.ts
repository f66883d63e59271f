import { getOrMake } from '../get-or-make.ts';
import { littleShare } from '../ledger.ts';
import { type Clock, realClock } from './clock.ts';
import type { Identity } from './credentials.ts';
import { FairMember, FairOrder } from './fair-order.ts';
import { LinkedList, type ListNode } from './linked-list.ts';

/** The requests of one GraphQL operation. */
export interface PoolSession {
  /** True once one of them got a resource; false if one has waited for too long before that. */
  isServed: boolean | null;
}

/** A request for a resource. */
export interface PoolRequest<Resource> {
  /** The caller that it is for. Groups get equal shares of what they wait for, and in each group its callers. */
  readonly caller: Identity;
  /** The bank operation that the resource is for: see OperationState. */
  readonly operation: string;
  /** Whether this resource suits the request; null if all do. */
  readonly suits: ((resource: Resource) => boolean) | null;
  /** The GraphQL operation that it belongs to, if any: see `FairPoolOptions.waitMs`. */
  readonly session?: PoolSession | null;
  /** Called when the request gets the resource, at `now` in milliseconds of the clock; it has to `release` it. */
  onAcquired(resource: Resource, now: number): void;
  /** Called when it has waited for too long; it waits no longer. */
  onOverloaded(): void;
}

export interface FairPoolOptions {
  /** The share of the resources that one bank operation may hold while others wait, above 0; 1 for all. */
  readonly share: number;
  /** The part of the resources that only callers that hold little of them can take; none if omitted. */
  readonly reserve?: number;
  /**
   * Up to this time a resource is held quickly, and beyond the other one slowly, however long others take; in
   * milliseconds.
   */
  readonly quickMs: number;
  readonly slowMs: number;
  /**
   * How long a request waits, in milliseconds; without end if omitted. This holds for the first resource of a GraphQL
   * operation: once it got one, its other requests wait until they are cancelled. If it gets none in time, all that wait for
   * it are refused. So an operation that comes at a bad time is refused before it cost anything, and not when half of it is done.
   */
  readonly waitMs?: number;
  /**
   * Called with those that wait when a quarter as many callers do as there are resources, at least two, and again whenever one
   * of them has stopped waiting; with null when fewer do. It must not throw.
   */
  readonly onCrowded?: ((crowd: Crowd | null) => void) | undefined;
  readonly clock?: Clock;
}

/** The callers that wait for resources. */
export interface Crowd {
  /** Whether the caller of this name is one of them. */
  isWaiting(caller: string): boolean;
}

/** The resources of one bank operation, for metrics. */
export interface OperationUsage {
  readonly operation: string;
  readonly taken: number;
  /** How many requests wait, and how many have had to so far. */
  readonly waiting: number;
  readonly waits: number;
}

/** Callers that count together: nobody has proven that they are different ones. */
class Group<Resource> extends FairMember {
  /** How many of its callers hold resources or wait for them, and how many resources they hold. */
  members = 0;
  held = 0;
  /** Those that wait; null before any does. */
  waiting: FairOrder<Caller<Resource>> | null = null;
}

/** A caller that holds resources or waits for them. */
class Caller<Resource> extends FairMember {
  readonly group: Group<Resource>;
  held = 0;
  /** Its waiting requests: nearly always for one bank operation or two. */
  readonly queues: Queue<Resource>[] = [];

  constructor(id: string, group: Group<Resource>) {
    super(id);
    this.group = group;
  }
}

/** A caller's waiting requests for one bank operation; it exists while any request waits. */
interface Queue<Resource> {
  readonly caller: Caller<Resource>;
  readonly operation: OperationState;
  readonly requests: LinkedList<WaitingRequest<Resource>>;
}

/** A waiting request, for `cancel`. */
export interface WaitingRequest<Resource> {
  readonly request: PoolRequest<Resource>;
  readonly queue: Queue<Resource>;
  /** Its position in the queue; null if it waits no longer. */
  position: ListNode<WaitingRequest<Resource>> | null;
  /** Until when it waits, by the clock of waiting. */
  readonly until: number;
  /** Its position among all that wait for a limited time, in the order of arrival. */
  arrival: ListNode<WaitingRequest<Resource>> | null;
}

/** A request that holds a resource, as its operation knows it. */
interface Hold {
  since: number;
}

/** A resource, and who holds it for which operation; null if nobody does. */
class Slot<Resource> implements Hold {
  readonly resource: Resource;
  /** Its position among those of its operation. A slot keeps its node: one for each request would outlive the request. */
  readonly position: ListNode<Hold> = { value: this, previous: null, next: null };
  operation: OperationState | null = null;
  caller: Caller<Resource> | null = null;
  since = 0;

  constructor(resource: Resource) {
    this.resource = resource;
  }
}

/** The clock of waiting ticks this often while any request waits, in milliseconds. */
const tickMs = 25;
/** A tick counts as at most this time, in milliseconds: if it takes longer, the event loop was blocked. */
const maxTickMs = 2 * tickMs;
/**
 * How many requests that have waited for too long are refused in a tick, and the others of the last one's operation: to fail a
 * field takes some tenths of a millisecond.
 */
const refusedAtOnce = 32;

/**
 * Limits how many requests hold a resource at the same time. A free resource is taken at once: the most recently used
 * one, a new one if none suits, or, at the maximum, the least recently used one.
 *
 * If none is free, groups share what becomes free equally, and in each group its callers (FairOrder).
 *
 * Requests whose bank operation is held back (OperationState) are skipped, and so are callers that hold an eighth of the
 * resources or more while no more than the reserve is free.
 *
 * Waiting time counts only while a request could have been served: a turn of the event loop that takes long counts as
 * two ticks of 25 ms.
 */
export class FairPool<Resource> implements Crowd {
  readonly #max: number;
  readonly #create: () => Resource;
  readonly #waitMs: number;
  readonly #onCrowded: (crowd: Crowd | null) => void;
  /** With so many callers waiting it is crowded. */
  readonly #crowd: number;
  readonly #clock: Clock;
  readonly #limits: OperationLimits;
  /** How many resources are left to callers that hold little, and what that is. */
  readonly #reserve: number;
  readonly #little: number;
  readonly #slots = new Map<Resource, Slot<Resource>>();
  readonly #idle: Slot<Resource>[] = [];
  /** How many resources are free, or were never created. */
  #free: number;
  /** Bounded: the contract has a fixed number of operations. */
  readonly #operations = new Map<string, OperationState>();
  /** The callers that hold resources or wait for them, their groups, and whose turn it is. */
  readonly #callers = new Map<string, Caller<Resource>>();
  readonly #groups = new Map<string, Group<Resource>>();
  readonly #order = new FairOrder<Group<Resource>>();
  /** How many requests wait, and how many callers. */
  #waiting = 0;
  #waitingCallers = 0;
  /** Those that wait for no longer than `waitMs`, in the order of arrival. */
  readonly #limited = new LinkedList<WaitingRequest<Resource>>();
  /** The clock of waiting, in milliseconds, and when it was read last. */
  #waitedMs = 0;
  #lastTick = 0;
  #stopTicking: (() => void) | null = null;

  /** At most `max` resources, each created when it is first needed. */
  constructor(
    max: number,
    create: () => Resource,
    {
      share,
      reserve = 0,
      quickMs,
      slowMs,
      waitMs = Number.POSITIVE_INFINITY,
      onCrowded = () => {},
      clock = realClock,
    }: FairPoolOptions,
  ) {
    this.#max = max;
    this.#create = create;
    this.#free = max;
    this.#waitMs = waitMs;
    this.#onCrowded = onCrowded;
    this.#crowd = Math.max(2, Math.floor(max / 4));
    this.#clock = clock;
    this.#reserve = Math.floor(max * reserve);
    this.#little = max * littleShare;
    // A quarter and a half of what is beyond the share: with a share of one half, an eighth and a quarter of all.
    const beyond = max * (1 - share);
    this.#limits = {
      share: Math.max(1, Math.floor(max * share)),
      reserves: [0, Math.round(beyond / 4), Math.ceil(beyond / 2)],
      quickMs,
      slowMs,
    };
  }

  /** Serves the request at once and returns null if a resource is free for it; otherwise the request waits. */
  acquire(request: PoolRequest<Resource>, now = this.#clock.now()): WaitingRequest<Resource> | null {
    const operation = this.#operations.get(request.operation) ?? this.#addOperation(request.operation);
    operation.lastUse = now;
    const caller = this.#callers.get(request.caller.name) ?? this.#addCaller(request.caller);
    // Requests that already wait for this operation are held back as well, so none of them is overtaken.
    if (
      (this.#free > this.#limits.reserves[2] || operation.admits(operation.pressure(now), this.#free)) &&
      this.#mayTake(caller)
    ) {
      request.onAcquired(this.#take(request, caller, operation, now), now);
      return null;
    }
    return this.#enqueue(request, caller, operation, now);
  }

  /** Returns a resource. To be called once. */
  release(resource: Resource): void {
    const slot = this.#slots.get(resource);
    if (slot === undefined) return;
    const now = this.#clock.now();
    const { operation, caller } = slot;
    operation?.release(slot.position, now);
    slot.operation = null;
    slot.caller = null;
    if (caller !== null) {
      caller.held--;
      caller.group.held--;
      if (caller.held === 0 && caller.queues.length === 0) this.#removeCaller(caller);
    }
    this.#idle.push(slot);
    this.#free++;
    if (this.#waiting > 0) this.#serveWaiting(now);
  }

  /** Removes a waiting request. */
  cancel(waiting: WaitingRequest<Resource>): void {
    const { queue, position, arrival } = waiting;
    if (position === null) return;
    const { caller, operation, requests } = queue;
    waiting.position = null;
    this.#waiting--;
    operation.waiting--;
    requests.remove(position);
    if (arrival !== null) this.#limited.remove(arrival);
    if (requests.first !== null) return;
    caller.queues.splice(caller.queues.indexOf(queue), 1);
    if (caller.queues.length > 0) return;
    this.#leave(caller);
    if (caller.held === 0) this.#removeCaller(caller);
  }

  isWaiting(caller: string): boolean {
    return (this.#callers.get(caller)?.queues.length ?? 0) > 0;
  }

  /** How many resources are held. */
  get held(): number {
    return this.#max - this.#free;
  }

  /** Whether a caller may take one of those that are free: the last ones are for callers that hold little. */
  #mayTake(caller: Caller<Resource>): boolean {
    return this.#free > this.#reserve || caller.held < this.#little;
  }

  #addCaller({ name, group: groupId }: Identity): Caller<Resource> {
    const group = getOrMake(this.#groups, groupId, () => new Group<Resource>(groupId));
    group.members++;
    const caller = new Caller(name, group);
    this.#callers.set(name, caller);
    return caller;
  }

  /** Forgets a caller that neither holds a resource nor waits for one. */
  #removeCaller(caller: Caller<Resource>): void {
    this.#callers.delete(caller.id);
    if (--caller.group.members === 0) this.#groups.delete(caller.group.id);
  }

  /** The resources that each bank operation holds or waits for, for every operation that was ever called. */
  get usage(): OperationUsage[] {
    return [...this.#operations].map(([operation, { holds, waiting, waits }]) => ({
      operation,
      taken: holds.size,
      waiting,
      waits,
    }));
  }

  #take(
    request: PoolRequest<Resource>,
    caller: Caller<Resource>,
    operation: OperationState,
    now: number,
  ): Resource {
    const slot = this.#slotFor(request);
    this.#free--;
    caller.held++;
    caller.group.held++;
    slot.caller = caller;
    slot.operation = operation;
    slot.since = now;
    operation.holds.appendNode(slot.position);
    if (request.session) request.session.isServed = true;
    return slot.resource;
  }

  #slotFor({ suits }: PoolRequest<Resource>): Slot<Resource> {
    const idle = this.#idle;
    const last = idle.at(-1);
    // The usual case: any of them suits.
    if (last !== undefined && (suits === null || suits(last.resource))) {
      idle.pop();
      return last;
    }
    const at = suits === null ? -1 : idle.findLastIndex(({ resource }) => suits(resource));
    if (at === -1 && this.#slots.size < this.#max) {
      const resource = this.#create();
      const slot = new Slot(resource);
      this.#slots.set(resource, slot);
      return slot;
    }
    const [slot] = idle.splice(Math.max(0, at), 1);
    if (slot === undefined) throw new Error('A request was served although no resource is free');
    return slot;
  }

  #enqueue(
    request: PoolRequest<Resource>,
    caller: Caller<Resource>,
    operation: OperationState,
    now: number,
  ): WaitingRequest<Resource> {
    const queue = this.#queueOf(caller, operation);
    if (this.#stopTicking === null) {
      this.#lastTick = now;
      if (this.#waitMs !== Number.POSITIVE_INFINITY)
        this.#stopTicking = this.#clock.every(tickMs, () => this.#tick());
    }
    const until = this.#waitedMs + (now - this.#lastTick) + this.#waitMs;
    const waiting: WaitingRequest<Resource> = { request, queue, position: null, until, arrival: null };
    waiting.position = queue.requests.append(waiting);
    waiting.arrival = this.#limited.append(waiting);
    this.#waiting++;
    operation.waiting++;
    operation.waits++;
    return waiting;
  }

  #serveWaiting(now: number): void {
    for (let queue = this.#next(now); queue !== null; queue = this.#next(now)) {
      const waiting = queue.requests.first?.value;
      if (waiting === undefined) return;
      const { request } = waiting;
      if (request.session?.isServed === false) {
        this.cancel(waiting);
        request.onOverloaded();
      } else {
        const { caller, operation } = queue;
        this.#order.charge(caller.group);
        caller.group.waiting?.charge(caller);
        // It holds the resource before it stops waiting: a caller that does neither is forgotten.
        const resource = this.#take(request, caller, operation, now);
        this.cancel(waiting);
        request.onAcquired(resource, now);
      }
    }
  }

  /** The queue whose turn it is: operations that are quick and below their share first, then the caller that is next. */
  #next(now: number): Queue<Resource> | null {
    if (this.#free === 0) return null;
    let first = heldBack;
    for (const operation of this.#operations.values()) {
      if (operation.waiting === 0) continue;
      operation.updatePrecedence(now, this.#free);
      first = Math.min(first, operation.precedence);
    }
    let next: Queue<Resource> | null = null;
    let best = heldBack;
    for (let group = this.#order.first; group !== null && best > first; group = group.next) {
      let caller = group.value.waiting?.first ?? null;
      for (; caller !== null && best > first; caller = caller.next) {
        for (const queue of caller.value.queues) {
          if (queue.operation.precedence >= best || !this.#mayTake(caller.value)) continue;
          next = queue;
          best = queue.operation.precedence;
        }
      }
    }
    return next;
  }

  #queueOf(caller: Caller<Resource>, operation: OperationState): Queue<Resource> {
    for (const queue of caller.queues) if (queue.operation === operation) return queue;
    const queue = { caller, operation, requests: new LinkedList<WaitingRequest<Resource>>() };
    const isFirst = caller.queues.length === 0;
    caller.queues.push(queue);
    if (isFirst) this.#enter(caller);
    return queue;
  }

  /** A caller begins to wait. */
  #enter(caller: Caller<Resource>): void {
    const { group } = caller;
    group.waiting ??= new FairOrder();
    if (group.waiting.size === 0) this.#order.enter(group, group.held);
    group.waiting.enter(caller, caller.held);
    if (++this.#waitingCallers === this.#crowd) this.#onCrowded(this);
  }

  /** A caller's last request waits no longer. */
  #leave(caller: Caller<Resource>): void {
    const { group } = caller;
    const waiting = --this.#waitingCallers;
    if (waiting >= this.#crowd) this.#onCrowded(this);
    else if (waiting === this.#crowd - 1) this.#onCrowded(null);
    group.waiting?.leave(caller);
    if (group.waiting?.size === 0) this.#order.leave(group);
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#waitedMs += Math.min(now - this.#lastTick, maxTickMs);
    this.#lastTick = now;
    let left = refusedAtOnce;
    for (let first = this.#limited.first; first !== null; first = this.#limited.first) {
      const waiting = first.value;
      const { session } = waiting.request;
      if (session?.isServed !== false && (waiting.until > this.#waitedMs || left <= 0)) break;
      if (session?.isServed) this.#limited.remove(first);
      else {
        left--;
        if (session) session.isServed = false;
        this.cancel(waiting);
        waiting.request.onOverloaded();
      }
    }
    if (this.#limited.first !== null) return;
    this.#stopTicking?.();
    this.#stopTicking = null;
  }

  #addOperation(id: string): OperationState {
    const operation = new OperationState(this.#limits, this.#operations);
    this.#operations.set(id, operation);
    return operation;
  }
}

interface OperationLimits {
  /** How many resources one operation may hold while others wait. */
  readonly share: number;
  /** How many resources an operation has to leave free for the others, by its pressure. */
  readonly reserves: readonly [none: number, one: number, both: number];
  readonly quickMs: number;
  readonly slowMs: number;
}

/** The precedence of operations that are not served now. */
const heldBack = 3;
/** An operation is compared with those that were called within this time, in milliseconds. */
const recentMs = 10_000;
/** Between `quickMs` and `slowMs`, an operation is slow if it takes this many times as long as the others. */
const slowFactor = 4;

/**
 * The resources that one bank operation holds or waits for, and its bulkhead: how many resources it has to leave free
 * for the others.
 *
 * |                 | quick     | slow      |
 * | --------------- | --------- | --------- |
 * | below its share | none      | an eighth |
 * | at its share    | an eighth | a quarter |
 *
 * (with a share of one half). Resources are therefore not idle while requests wait for them. The reserve is for other
 * operations, and for the time until an operation is found to be slow: before that it counts as quick. If resources are
 * scarce, operations that are quick and below their share go first.
 *
 * Slow means slow compared with the other operations: if the bank is equally slow for everything, nothing is held back,
 * nor is an operation when no other one was called lately.
 */
class OperationState {
  /** How many requests wait, and how many have had to. */
  waiting = 0;
  waits = 0;
  /** The resources that its requests hold, oldest first. */
  readonly holds = new LinkedList<Hold>();
  /** Operations with a lower number are served first: its pressure when that was looked at last, or `heldBack`. */
  precedence = heldBack;
  lastUse = Number.NEGATIVE_INFINITY;
  /** How long the last request took, in milliseconds; 0 before the first. */
  #lastMs = 0;
  #averageMs: number | null = null;
  readonly #limits: OperationLimits;
  readonly #all: ReadonlyMap<string, OperationState>;

  /** `all` are the operations that share the resources, with this one. */
  constructor(limits: OperationLimits, all: ReadonlyMap<string, OperationState>) {
    this.#limits = limits;
    this.#all = all;
  }

  release(hold: ListNode<Hold>, now: number): void {
    this.holds.remove(hold);
    this.#lastMs = now - hold.value.since;
    this.#averageMs = this.#averageMs === null ? this.#lastMs : 0.75 * this.#averageMs + 0.25 * this.#lastMs;
  }

  /** 0 if it is quick and below its share, 1 if one of these is false, 2 if both are. */
  pressure(now: number): 0 | 1 | 2 {
    const isAtShare = this.holds.size >= this.#limits.share;
    const isSlow = this.#isSlow(now);
    if (isAtShare && isSlow) return 2;
    return isAtShare || isSlow ? 1 : 0;
  }

  /** Sets its precedence, when this many resources are free. */
  updatePrecedence(now: number, free: number): void {
    const pressure = this.pressure(now);
    this.precedence = this.admits(pressure, free) ? pressure : heldBack;
  }

  /** Whether it may take a resource when this many are free. */
  admits(pressure: 0 | 1 | 2, free: number): boolean {
    return free > this.#limits.reserves[pressure];
  }

  #isSlow(now: number): boolean {
    const oldest = this.holds.first;
    const longestMs = oldest === null ? this.#lastMs : Math.max(this.#lastMs, now - oldest.value.since);
    if (longestMs <= this.#limits.quickMs) return false;
    const othersMs = this.#othersMs(now);
    return othersMs !== null && longestMs > Math.min(this.#limits.slowMs, slowFactor * othersMs);
  }

  /**
   * How long the other operations take: the median of their averages, the lower of two; null if none was called lately.
   */
  #othersMs(now: number): number | null {
    const averages: number[] = [];
    for (const other of this.#all.values())
      if (other !== this && now - other.lastUse <= recentMs) averages.push(other.#averageMs ?? 0);
    averages.sort((a, b) => a - b);
    return averages[(averages.length - 1) >> 1] ?? null;
  }
}
