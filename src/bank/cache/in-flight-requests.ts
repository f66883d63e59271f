import { AsyncLocalStorage } from 'node:async_hooks';
import { CancellationToken } from '../http/cancellation.ts';
import type { TransportFailure } from '../http/http-message.ts';
import type { ListNode } from '../linked-list.ts';
import type { OperationDeadline, Waiter } from '../resilience/operation-deadline.ts';

/** One who asks for an answer, and is told once what came of it. */
export abstract class Subscriber<T> implements Waiter {
  /** Whose data it is; it holds no space. */
  readonly group: string;
  /** What is shared in the group; null is shared with nobody. */
  readonly key: string | null;
  /** How long they wait; it must not have ended. */
  readonly operationDeadline: OperationDeadline;
  #request: InFlightRequest<T> | null = null;
  /** Runs what they do when they are told by another's call; null where the call is their own. */
  #runInOwnContext: ((run: () => void) => void) | null = null;
  #wait: ListNode<Waiter> | null = null;

  constructor(group: string, key: string | null, operationDeadline: OperationDeadline) {
    this.group = group;
    this.key = key;
    this.operationDeadline = operationDeadline;
  }

  abstract onResult(answer: T): void;
  /** Why there is no answer: what the call that they started failed with, or TransportFailure where they gave up. */
  abstract onFailure(error: unknown): void;
  /** The call that they joined failed. It runs in the context of their own request, in which they may ask again. */
  abstract onSharedFailure(error: unknown): void;

  /** Whether another started what they wait for. */
  get isShared(): boolean {
    return this.#runInOwnContext !== null;
  }

  subscribeTo(request: InFlightRequest<T>): void {
    this.#request = request;
    if (request.subscribers.length > 0) this.#runInOwnContext = AsyncLocalStorage.snapshot();
    this.#wait = this.operationDeadline.addWaiter(this);
    request.subscribers.push(this);
  }

  unsubscribe(): void {
    if (this.#wait !== null) this.operationDeadline.removeWaiter(this.#wait);
    this.#wait = null;
    this.#request = null;
  }

  reject(error: unknown): void {
    if (this.#runInOwnContext === null) this.onFailure(error);
    else this.#runInOwnContext(() => this.onSharedFailure(error));
  }

  onEnd(failure: TransportFailure): void {
    const request = this.#request;
    this.unsubscribe();
    request?.remove(this);
    this.onFailure(failure);
  }
}

/** A call that is under way, and those who wait for it. */
class InFlightRequest<T> {
  readonly cancellation = new CancellationToken();
  subscribers: Subscriber<T>[] = [];
  readonly #onEmpty: () => void;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  remove(subscriber: Subscriber<T>): void {
    this.subscribers = this.subscribers.filter((other) => other !== subscriber);
    if (this.subscribers.length > 0) return;
    this.#onEmpty();
    this.cancellation.cancel();
  }

  /**
   * Those who waited to the end. The request holds them no longer: a Map that grows, or has had many entries deleted,
   * leaves its table behind with all that it held, and each such table holds the next, so that whole answers would hang
   * on a request to the next full collection.
   */
  settle(): readonly Subscriber<T>[] {
    const { subscribers } = this;
    this.subscribers = [];
    for (const subscriber of subscribers) subscriber.unsubscribe();
    return subscribers;
  }
}

interface InFlightRequestsOptions<T, P extends Subscriber<T>> {
  /** Makes the call, for the first who asks; the cancel is raised when nobody waits any more. */
  readonly start: (first: P, cancellation: CancellationToken) => Promise<T>;
  /** Is given the answer to what the first asked for, unless the group was closed meanwhile. */
  readonly store: (first: P, answer: T) => void;
}

/**
 * Calls that are under way and may be joined by who asks the same. A call that is shared has a deadline of its own:
 * one who leaves fails nobody, and when the last has left it is given up.
 *
 * Flights belong to groups (a caller; the public). What changes a group's data closes it: who asks from then on joins
 * none of the flights that left before, and their answers are not kept.
 */
export function createInFlightRequests<T, P extends Subscriber<T>>({
  start,
  store,
}: InFlightRequestsOptions<T, P>) {
  /** Those that can be joined, by their group and key. */
  const groups = new Map<string, Map<string, InFlightRequest<T>>>();

  /** Nobody joins it any more. True where one could until now. */
  function detach(request: InFlightRequest<T>, { group, key }: Subscriber<T>): boolean {
    const open = groups.get(group);
    if (open === undefined || key === null || open.get(key) !== request) return false;
    open.delete(key);
    if (open.size === 0) groups.delete(group);
    return true;
  }

  function begin(first: P): InFlightRequest<T> {
    const request = new InFlightRequest<T>(() => detach(request, first));
    first.subscribeTo(request);
    start(first, request.cancellation).then(
      (answer) => {
        if (detach(request, first)) store(first, answer);
        for (const subscriber of request.settle()) subscriber.onResult(answer);
      },
      (error: unknown) => {
        detach(request, first);
        for (const subscriber of request.settle()) subscriber.reject(error);
      },
    );
    return request;
  }

  function requestsOf(group: string): Map<string, InFlightRequest<T>> {
    let open = groups.get(group);
    if (open === undefined) {
      open = new Map();
      groups.set(group, open);
    }
    return open;
  }

  return {
    /** Joins the request in flight with the subscriber's group and key, or starts one. */
    subscribe(subscriber: P): void {
      const { group, key } = subscriber;
      if (key === null) return void begin(subscriber);
      const open = requestsOf(group);
      const request = open.get(key);
      if (request === undefined) open.set(key, begin(subscriber));
      else subscriber.subscribeTo(request);
    },

    /** The group's data changes: nobody joins what is under way, and none of it is kept. */
    invalidate(group: string): void {
      groups.delete(group);
    },
  };
}
