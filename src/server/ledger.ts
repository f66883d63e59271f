import type { UnreadBytes } from './connection.ts';
import type { IncomingRequest } from './request.ts';

export interface LoadLimits {
  /** Requests that are under way at the same time, in all and of one caller. */
  readonly inFlight: number;
  readonly inFlightPerCaller: number;
  /** How late the event loop may be, in milliseconds, before nothing new is accepted. */
  readonly eventLoopLagMs: number;
}

/** Why a request is not accepted. */
export type ShedReason =
  | 'in flight'
  | 'in flight of the caller'
  | 'event loop lag'
  | 'unread bytes'
  | 'unread bytes of the caller';

/** A request that is accepted. */
interface Admission {
  /** Where its caller's unread bytes are counted. */
  readonly unread: UnreadBytes;
  /** Call it once, when the request is over. */
  readonly release: () => void;
}

/** How often the event loop's lag is looked at, in milliseconds. */
const lookEveryMs = 100;

/**
 * Bounds what is accepted, so that what is accepted is answered in time, and one caller leaves room for the others.
 * `tryAcquire` answers why a request is not accepted, where it is not. `callerKey` tells callers apart before anybody has
 * verified them; it must not throw.
 */
export function createLoadShedder(
  limits: LoadLimits,
  callerKey: (request: IncomingRequest) => string,
  unread: UnreadBytes,
) {
  let isLate = false;
  let expected = performance.now() + lookEveryMs;
  const look = setInterval(() => {
    const now = performance.now();
    isLate = now - expected > limits.eventLoopLagMs;
    expected = now + lookEveryMs;
    for (const [caller, { inFlight }] of byCaller) if (inFlight === 0) byCaller.delete(caller);
  }, lookEveryMs).unref();
  let inFlight = 0;
  /**
   * By what they show, as it stands: a hash of it would take longer than the rest of the guard, and it is forgotten a
   * tenth of a second after its last request. Those who are gone are taken out a few times a second, not at each end of a
   * request: a Map that shrinks and grows all the time leaves tables behind, which keep alive what stands in the next
   * until the whole heap is collected.
   */
  const byCaller = new Map<string, { inFlight: number; readonly unread: UnreadBytes }>();

  return {
    get inFlight() {
      return inFlight;
    },
    /** Whether a request of somebody who has nothing under way would be accepted. */
    get hasRoom() {
      return !isLate && inFlight < limits.inFlight && !unread.isFull;
    },
    tryAcquire(request: IncomingRequest): Admission | ShedReason {
      if (isLate) return 'event loop lag';
      if (inFlight >= limits.inFlight) return 'in flight';
      if (unread.isFull) return 'unread bytes';
      const caller = callerKey(request);
      const own = byCaller.get(caller) ?? { inFlight: 0, unread: unread.ofCaller() };
      if (own.inFlight >= limits.inFlightPerCaller) return 'in flight of the caller';
      if (own.unread.isFull) return 'unread bytes of the caller';
      if (own.inFlight === 0) byCaller.set(caller, own);
      inFlight++;
      own.inFlight++;
      const release = () => {
        inFlight--;
        own.inFlight--;
      };
      return { unread: own.unread, release };
    },
    close(): void {
      clearInterval(look);
      byCaller.clear();
    },
  };
}
