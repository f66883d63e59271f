import { AsyncLocalStorage } from 'node:async_hooks';
import { Cancel } from './cancel.ts';
import type { Link } from './chain.ts';
import type { Patience, Waiter } from './patience.ts';
import type { TransportFailure } from './wire.ts';

/** One who asks for an answer, and is told once what came of it. */
export abstract class Passenger<T> implements Waiter {
  /** Whose data it is; it holds no space. */
  readonly group: string;
  /** What is shared in the group; null is shared with nobody. */
  readonly key: string | null;
  /** How long they wait; it must not have ended. */
  readonly patience: Patience;
  #flight: Flight<T> | null = null;
  /** Runs what they do when they are told by another's call; null where the call is their own. */
  #asThemselves: ((run: () => void) => void) | null = null;
  #wait: Link<Waiter> | null = null;

  constructor(group: string, key: string | null, patience: Patience) {
    this.group = group;
    this.key = key;
    this.patience = patience;
  }

  abstract onAnswer(answer: T): void;
  /** Why there is no answer: what the call that they started failed with, or TransportFailure where they gave up. */
  abstract onFailure(error: unknown): void;
  /** The call that they joined failed. It runs in the context of their own request, in which they may ask again. */
  abstract onJoinedFailure(error: unknown): void;

  /** Whether another started what they wait for. */
  get joined(): boolean {
    return this.#asThemselves !== null;
  }

  board(flight: Flight<T>): void {
    this.#flight = flight;
    if (flight.passengers.length > 0) this.#asThemselves = AsyncLocalStorage.snapshot();
    this.#wait = this.patience.hold(this);
    flight.passengers.push(this);
  }

  leave(): void {
    if (this.#wait !== null) this.patience.release(this.#wait);
    this.#wait = null;
    this.#flight = null;
  }

  fail(error: unknown): void {
    if (this.#asThemselves === null) this.onFailure(error);
    else this.#asThemselves(() => this.onJoinedFailure(error));
  }

  giveUp(failure: TransportFailure): void {
    const flight = this.#flight;
    this.leave();
    flight?.lose(this);
    this.onFailure(failure);
  }
}

/** A call that is under way, and those who wait for it. */
class Flight<T> {
  readonly cancel = new Cancel();
  passengers: Passenger<T>[] = [];
  readonly #onEmpty: () => void;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  lose(passenger: Passenger<T>): void {
    this.passengers = this.passengers.filter((other) => other !== passenger);
    if (this.passengers.length > 0) return;
    this.#onEmpty();
    this.cancel.raise();
  }

  /**
   * Those who waited to the end. The flight holds them no longer: a Map that grows, or has had many entries deleted,
   * leaves its table behind with all that it held, and each such table holds the next, so that whole answers would hang
   * on a flight to the next full collection.
   */
  unload(): readonly Passenger<T>[] {
    const { passengers } = this;
    this.passengers = [];
    for (const passenger of passengers) passenger.leave();
    return passengers;
  }
}

interface FlightOptions<T, P extends Passenger<T>> {
  /** Makes the call, for the first who asks; the cancel is raised when nobody waits any more. */
  readonly start: (first: P, cancel: Cancel) => Promise<T>;
  /** Is given the answer to what the first asked for, unless the group was closed meanwhile. */
  readonly keep: (first: P, answer: T) => void;
}

/**
 * Calls that are under way and may be joined by who asks the same. A call that is shared has a deadline of its own:
 * one who leaves fails nobody, and when the last has left it is given up.
 *
 * Flights belong to groups (a caller; the public). What changes a group's data closes it: who asks from then on joins
 * none of the flights that left before, and their answers are not kept.
 */
export function createFlights<T, P extends Passenger<T>>({ start, keep }: FlightOptions<T, P>) {
  /** Those that can be joined, by their group and key. */
  const groups = new Map<string, Map<string, Flight<T>>>();

  /** Nobody joins it any more. True where one could until now. */
  function forget(flight: Flight<T>, { group, key }: Passenger<T>): boolean {
    const open = groups.get(group);
    if (open === undefined || key === null || open.get(key) !== flight) return false;
    open.delete(key);
    if (open.size === 0) groups.delete(group);
    return true;
  }

  function launch(first: P): Flight<T> {
    const flight = new Flight<T>(() => forget(flight, first));
    first.board(flight);
    start(first, flight.cancel).then(
      (answer) => {
        if (forget(flight, first)) keep(first, answer);
        for (const passenger of flight.unload()) passenger.onAnswer(answer);
      },
      (error: unknown) => {
        forget(flight, first);
        for (const passenger of flight.unload()) passenger.fail(error);
      },
    );
    return flight;
  }

  function openOf(group: string): Map<string, Flight<T>> {
    let open = groups.get(group);
    if (open === undefined) {
      open = new Map();
      groups.set(group, open);
    }
    return open;
  }

  return {
    /** Joins the flight with the passenger's group and key, or starts one. */
    take(passenger: P): void {
      const { group, key } = passenger;
      if (key === null) return void launch(passenger);
      const open = openOf(group);
      const flight = open.get(key);
      if (flight === undefined) open.set(key, launch(passenger));
      else passenger.board(flight);
    },

    /** The group's data changes: nobody joins what is under way, and none of it is kept. */
    close(group: string): void {
      groups.delete(group);
    },
  };
}
