import { Cancel } from './cancel.ts';
import type { Patience, Waiter } from './patience.ts';

/** A call that may be shared. */
interface Asked<T> {
  /** Holds no space. */
  readonly group: string;
  /** What is shared; a symbol shares with nobody. */
  readonly key: string | symbol;
  /** Of the one who asks; it must not have ended. */
  readonly patience: Patience;
  /** Makes the call, where none is under way; the cancel is raised when nobody waits any more. */
  readonly start: (cancel: Cancel) => Promise<T>;
  /** Is given the answer of a flight that started here, unless its group was closed meanwhile. */
  readonly keep: (answer: T) => unknown;
}

type Landed<T> = { readonly answer: T; readonly joined: boolean } | 'joined a failure';

/** A call that is under way, and those who wait for it. */
interface Flight<T> {
  readonly group: string;
  readonly key: string | symbol;
  readonly entry: Entry<T>;
  readonly cancel: Cancel;
  passengers: Passenger<T>[];
}

/**
 * What the Map of flights holds. A Map that grows, or has had many entries deleted, leaves its table behind with all
 * that it held, and each such table holds the next: what hangs on an entry may live to the next full collection, long
 * after the entry was deleted. So the flight is taken out of its entry too; the collector copied whole answers before.
 */
interface Entry<T> {
  /** Null where it can be joined no more. */
  flight: Flight<T> | null;
}

interface Passenger<T> extends Waiter {
  readonly patience: Patience;
  readonly joined: boolean;
  readonly resolve: (landed: Landed<T>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls that are under way and may be joined by who asks the same. A call that is shared has a deadline of its own:
 * one who leaves fails nobody, and when the last has left it is given up.
 *
 * Flights belong to groups (a caller; the public). What changes a group's data closes it: who asks from then on joins
 * none of the flights that left before, and their answers are not kept.
 */
export function createFlights<T>() {
  const flights = new Map<string | symbol, Entry<T>>();

  return {
    /**
     * Joins the group's flight with this key, or starts one.
     * Errors: those of `start` where it started here; who joined another's flight that fails is told `joined`, and
     *         asks alone, for errors are not shared. TransportFailure `timeout` or `cancelled` for who gives up.
     */
    take(asked: Asked<T>): Promise<Landed<T>> {
      const { patience } = asked;
      const key = typeof asked.key === 'symbol' ? asked.key : `${asked.group} ${asked.key}`;
      const known = flights.get(key)?.flight;
      const flight = known ?? launch(key, asked);
      return new Promise((resolve, reject) => {
        const passenger: Passenger<T> = {
          patience,
          joined: flight === known,
          resolve,
          reject,
          giveUp(failure) {
            reject(failure);
            leave(flight, passenger);
          },
        };
        flight.passengers.push(passenger);
        patience.hold(passenger);
      });
    },

    /** The group's data changes: nobody joins what is under way, and none of it is kept. */
    close(group: string): void {
      for (const { flight } of flights.values()) if (flight?.group === group) forget(flight);
    },
  };

  function launch(key: string | symbol, { group, start, keep }: Asked<T>): Flight<T> {
    const entry: Entry<T> = { flight: null };
    const flight: Flight<T> = { group, key, entry, cancel: new Cancel(), passengers: [] };
    entry.flight = flight;
    flights.set(key, entry);
    start(flight.cancel).then(
      (answer) => {
        if (forget(flight)) keep(answer);
        for (const { resolve, joined } of landed(flight)) resolve({ answer, joined });
      },
      (error) => {
        forget(flight);
        for (const { resolve, reject, joined } of landed(flight))
          joined ? resolve('joined a failure') : reject(error);
      },
    );
    return flight;
  }

  /** Those who waited to the end. */
  function landed({ passengers }: Flight<T>): readonly Passenger<T>[] {
    for (const passenger of passengers) passenger.patience.release(passenger);
    return passengers;
  }

  function leave(flight: Flight<T>, passenger: Passenger<T>): void {
    flight.passengers = flight.passengers.filter((other) => other !== passenger);
    if (flight.passengers.length > 0) return;
    forget(flight);
    flight.cancel.raise();
  }

  /** True where the flight could still be joined. */
  function forget({ key, entry }: Flight<T>): boolean {
    if (entry.flight === null) return false;
    entry.flight = null;
    return flights.delete(key);
  }
}
