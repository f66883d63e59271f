import { TransportFailure } from './transport.ts';

/** How long one who waits for a shared call waits, and what makes it give up. */
export interface Patience {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call that may be shared. */
interface Asked<T> {
  readonly group: string;
  readonly key: string;
  readonly patience: Patience;
  /** Makes the call, where none is under way; the signal is raised when nobody waits any more. */
  readonly start: (signal: AbortSignal) => Promise<T>;
  /** Is given the answer of a flight that started here, unless its group was closed meanwhile. */
  readonly keep: (answer: T) => unknown;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

/**
 * Calls that are under way and may be joined by who asks the same. A call that is shared has a deadline of its own:
 * one who leaves fails nobody, and when the last has left it is given up.
 *
 * Flights belong to groups (a caller; the public). What changes a group's data closes it: who asks from then on joins
 * none of the flights that left before, and their answers are not kept.
 */
export function createFlights<T>() {
  const groups = new Map<string, Map<string, Flight<T>>>();

  return {
    /**
     * Joins the group's flight with this key, or starts one.
     * Errors: those of `start` where it started here; who joined another's flight that fails is told `joined`, and
     *         asks alone, for errors are not shared. TransportFailure `timeout` or `cancelled` for who gives up.
     */
    async take({
      group,
      key,
      patience,
      start,
      keep,
    }: Asked<T>): Promise<{ readonly answer: T; readonly joined: boolean } | 'joined a failure'> {
      const known = groups.get(group)?.get(key);
      const joined = known !== undefined;
      const flight = known ?? launch(group, key, start, keep);
      flight.waiting++;
      try {
        return { answer: await withPatience(flight.result, patience), joined };
      } catch (error) {
        if (error instanceof GaveUp) throw error.failure;
        if (joined) return 'joined a failure';
        throw error;
      } finally {
        flight.waiting--;
        if (flight.waiting === 0) {
          // Nobody waits: where it has ended, this does nothing.
          forget(group, key, flight);
          flight.abort.abort();
        }
      }
    },

    /** The group's data changes: nobody joins what is under way, and none of it is kept. */
    close(group: string): void {
      groups.delete(group);
    },
  };

  function launch(group: string, key: string, start: Asked<T>['start'], keep: Asked<T>['keep']): Flight<T> {
    const abort = new AbortController();
    const flight: Flight<T> = { result: start(abort.signal), abort, waiting: 0 };
    const flights = groups.get(group) ?? new Map<string, Flight<T>>();
    groups.set(group, flights.set(key, flight));
    flight.result.then(
      (answer) => {
        if (forget(group, key, flight)) keep(answer);
      },
      () => void forget(group, key, flight),
    );
    return flight;
  }

  /** True where the flight could still be joined. */
  function forget(group: string, key: string, flight: Flight<T>): boolean {
    const flights = groups.get(group);
    if (flights?.get(key) !== flight) return false;
    flights.delete(key);
    if (flights.size === 0) groups.delete(group);
    return true;
  }
}

/** Tells who gave up from a flight that failed. */
class GaveUp extends Error {
  readonly failure: TransportFailure;

  constructor(reason: 'timeout' | 'cancelled', message: string) {
    super(message);
    this.failure = new TransportFailure(reason, true, message);
  }
}

function withPatience<T>(result: Promise<T>, { timeoutMs, signal }: Patience): Promise<T> {
  return new Promise((resolve, reject) => {
    // The call has a deadline of its own: only who has less time than that needs another.
    const timer = Number.isFinite(timeoutMs)
      ? setTimeout(() => reject(new GaveUp('timeout', `no whole answer within ${timeoutMs} ms`)), timeoutMs)
      : undefined;
    const cancel = () => reject(new GaveUp('cancelled', 'the caller left'));
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel);
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    };
    result.then(
      (value) => {
        end();
        resolve(value);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}
