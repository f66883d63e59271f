import { AsyncLocalStorage } from 'node:async_hooks';
import { CancellationToken } from '../http/cancellation.ts';
import type { TransportFailure } from '../http/http-message.ts';
import type { ListNode } from '../linked-list.ts';
import type { OperationDeadline, Waiter } from '../resilience/operation-deadline.ts';

/** A read that waits for an answer, and is notified once of the outcome. */
export abstract class Subscriber<T> implements Waiter {
  /** The owner of the data; it contains no space. */
  readonly group: string;
  /** Identifies the shareable request within the group; null if it must not be shared. */
  readonly key: string | null;
  /** Limits the wait; it must not have ended yet. */
  readonly operationDeadline: OperationDeadline;
  #request: InFlightRequest<T> | null = null;
  /**
   * Runs the callbacks in the subscriber's own async context if another's call notifies it; null if the call is its
   * own.
   */
  #runInOwnContext: ((run: () => void) => void) | null = null;
  #wait: ListNode<Waiter> | null = null;

  constructor(group: string, key: string | null, operationDeadline: OperationDeadline) {
    this.group = group;
    this.key = key;
    this.operationDeadline = operationDeadline;
  }

  abstract onResult(answer: T): void;
  /** Called with the error of the call that this subscriber started, or with a TransportFailure if it gave up. */
  abstract onFailure(error: unknown): void;
  /** The joined call failed. Runs in the context of the subscriber's own request, which may call again. */
  abstract onSharedFailure(error: unknown): void;

  /** Whether the call was started by another subscriber. */
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

/** A call in flight, and its subscribers. */
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
   * Returns the remaining subscribers and releases them: when a Map is rehashed (it grows, or many entries were
   * deleted), V8 leaves the old table behind with references to its entries and to the next table. Through a request in
   * such a table, whole answers would stay in memory until the next full garbage collection.
   */
  settle(): readonly Subscriber<T>[] {
    const { subscribers } = this;
    this.subscribers = [];
    for (const subscriber of subscribers) subscriber.unsubscribe();
    return subscribers;
  }
}

interface InFlightRequestsOptions<T, P extends Subscriber<T>> {
  /** Makes the call for the first subscriber; `cancellation` is cancelled when the last one leaves. */
  readonly start: (first: P, cancellation: CancellationToken) => Promise<T>;
  /** Called with the answer to the first subscriber's request, unless the group was invalidated meanwhile. */
  readonly store: (first: P, answer: T) => void;
}

/**
 * Calls in flight that subscribers with the same request may join. A shared call has a deadline of its own: a
 * subscriber that leaves does not fail the others, and when the last one has left the call is cancelled.
 *
 * Calls belong to groups (one per caller; one for public data). A write invalidates the group: later subscribers do not
 * join calls started before it, and the answers of those are not stored.
 */
export function createInFlightRequests<T, P extends Subscriber<T>>({
  start,
  store,
}: InFlightRequestsOptions<T, P>) {
  /** The calls that can be joined, by group and key. */
  const groups = new Map<string, Map<string, InFlightRequest<T>>>();

  /** Removes the call, so that nobody joins it any more. Returns whether it could be joined until now. */
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

    /** The group's data changes: calls in flight are not joined any more, and their answers are not stored. */
    invalidate(group: string): void {
      groups.delete(group);
    },
  };
}
