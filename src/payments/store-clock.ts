import type { OnStoreEvent } from './store.ts';

/** By how much the clocks of the store's server and of this process may differ before no record expires. */
const maxDifferenceMs = 5 * 60_000;
/** By how much the clock may run ahead of the time since the process began, as a clock that cannot be set has it. */
const maxAheadMs = 60 * 60_000;

/** Smaller changes of the difference between two clocks do not count, nor do answers that took longer. */
const measurableMs = 1_000;

/** No lease is longer: BANK_TRANSFER_TIMEOUT_MS is at most 10 minutes, and the margin is 10 seconds. */
export const longestLeaseMs = 11 * 60_000;

export interface ClockSources {
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
  /** A clock that cannot be set, in milliseconds. */
  readonly monotonic: () => number;
}

/**
 * The time by which records are written, and decisions about them made.
 *
 * Processes on several machines share a store, so that records have the time of its server: what a process says of a time is moved
 * by the difference between the two clocks. To end a lease or a record's retention too early could send a payment twice, so that a
 * clock that is wrong must not: the earlier one counts, and no record expires while the two differ, or while this process's clock
 * is ahead of what the time since its start allows. A clock that is set ends no lease either: the time that it skips counts only
 * when the leases from before are over.
 */
export function createStoreClock(
  onEvent: OnStoreEvent,
  { wallClock, monotonic }: ClockSources = {
    wallClock: Date.now,
    monotonic: performance.now.bind(performance),
  },
) {
  const startedAt = wallClock() - monotonic();
  /** How far the server's clock is ahead of this process's. */
  let offset = 0;
  let isMeasured = false;
  let differed = false;
  /** How far this process's clock was ahead of one that cannot be set. */
  let aheadOfSteady = startedAt;
  let wasSet = false;
  /**
   * How much time the clock by which leases end has skipped, and until when that does not count. Negative only until the server's time
   * is heard: if that has not changed, it cancels out.
   */
  let skipped = { ms: 0, until: Number.NEGATIVE_INFINITY };

  const skippedMs = () => (monotonic() < skipped.until ? skipped.ms : 0);

  function skip(ms: number, least = 0): void {
    skipped = { ms: Math.max(least, skippedMs() + Math.ceil(ms)), until: monotonic() + longestLeaseMs };
  }

  /** Notices that this process's clock was set. */
  function lookAtClock(): void {
    const ahead = wallClock() - monotonic();
    const setBy = ahead - aheadOfSteady;
    if (Math.abs(setBy) <= measurableMs) return;
    aheadOfSteady = ahead;
    wasSet = isMeasured || wasSet;
    isMeasured = false;
    skip(setBy, wasSet ? Number.NEGATIVE_INFINITY : 0);
  }

  function differ(now: number): boolean {
    const ahead = now - monotonic() - startedAt;
    const differs = Math.abs(offset) > maxDifferenceMs || ahead > maxAheadMs;
    if (differs !== differed)
      onEvent(
        differs
          ? { kind: 'clocks-differ', byMs: Math.round(Math.max(Math.abs(offset), ahead)) }
          : { kind: 'clocks-agree' },
      );
    differed = differs;
    return differs;
  }

  const earlier = (now: number) => Math.min(now, now + offset);

  return {
    /** Whether an answer was quick enough so far. */
    get isMeasured() {
      return isMeasured;
    },
    /** Whether this process's clock was set since the server's time was last heard: the store has to be asked for it again. */
    get wasSet() {
      lookAtClock();
      return wasSet;
    },
    /** When the store is asked for something, for `hear`. */
    ask: () => ({ wall: wallClock(), monotonic: monotonic() }),
    /**
     * Takes the server's time from the answer. An answer that took long, or that this process read late because it was stopped,
     * says nothing of the clock: the difference would be wrong by as much, and leases would end too early.
     */
    hear(asked: { readonly wall: number; readonly monotonic: number }, serverTime: number): void {
      lookAtClock();
      const wall = wallClock();
      if (Math.max(monotonic() - asked.monotonic, Math.abs(wall - asked.wall)) > measurableMs) return;
      const difference = serverTime - wall - offset;
      // Smaller differences are the time that the answer took.
      const change = Math.abs(difference) > measurableMs ? difference : 0;
      offset += change;
      if (wasSet || (isMeasured && change !== 0)) skip(change);
      [isMeasured, wasSet] = [true, false];
    },
    /** A time of this process in the store's terms. */
    toStore: (now: number): number => now + offset,
    /**
     * The time with which an end is written, from which its record's retention counts: that of the later clock. If the other one
     * was behind, and is set right, the record does not expire at once.
     */
    ofEnd: (now: number): number => Math.max(now, now + offset),
    /** The time by which leases have ended, in the store's terms. */
    forLeases(now: number): number {
      lookAtClock();
      return (Math.abs(offset) > maxDifferenceMs ? earlier(now) : now + offset) - Math.max(0, skippedMs());
    },
    /** The time by which records have expired, in the store's terms; null while no record does. */
    forRetention: (now: number): number | null => (differ(now) ? null : earlier(now)),
  };
}
