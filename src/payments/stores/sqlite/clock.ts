import { randomUUID } from 'node:crypto';
import type { OnStoreEvent } from '../store-event.ts';
import type { Statements } from './statements.ts';

/**
 * A process is considered dead if its row did not change during this many heartbeats of this one. Elapsed time is not
 * used: a lock that blocks the heartbeats of all processes must not make them look dead.
 */
const deadAfterBeats = 15;

/**
 * The maximum difference between the clocks of live processes, and the maximum by which a clock may run ahead of the
 * time since its process began. Beyond it, nothing is purged.
 */
const maxDifferenceMs = 60 * 60 * 1000;

/** How far a clock may deviate from its last heartbeat before the other processes are told at once. */
const maxDriftMs = 60_000;

export const defaultBeatMs = 2_000;

interface Watched {
  readonly beats: number;
  /** This process's number of heartbeats when the row was last seen to change. */
  readonly changedAt: number;
  /** Whether it was ever seen to change: until then the row may be a leftover. */
  readonly proven: boolean;
}

/**
 * The time that the processes which share a store agree on, for deciding which finished records have expired: deleting
 * one too early would allow its payment to be sent again, and one process may have a wrong clock.
 *
 * Each process has a row with its time and its number of heartbeats. Liveness is judged by these numbers, which do not
 * depend on any clock. The processes of one machine share a clock, which may jump for all of them: a time is trusted
 * only as far as a monotonic clock has advanced since the start of the process.
 */
export interface SharedClock {
  /** Sets this process's time from a call, and tells the others if it deviates from what they expect. */
  set(statements: Statements, now: number): void;
  /**
   * The heartbeat, to be called every beatMs in a transaction: writes this process's row, and removes those of dead
   * processes.
   */
  beat(statements: Statements): void;
  /**
   * The lowest time of all live processes; null while they differ by over an hour, `now` is over an hour ahead of what
   * the process's start and the time since then allow, or it is not yet known whether a process is alive.
   */
  agreedTime(statements: Statements, now: number): number | null;
  /** Removes this process's row. */
  leave(statements: Statements): void;
}

/** Both in milliseconds. */
export interface ClockSources {
  /** Since 1970. */
  readonly wallClock: () => number;
  /** A clock that cannot be set. */
  readonly monotonic: () => number;
}

const processClocks: ClockSources = { wallClock: () => Date.now(), monotonic: () => performance.now() };

export function createSharedClock(
  onEvent: OnStoreEvent,
  { wallClock, monotonic }: ClockSources = processClocks,
): SharedClock {
  const own = randomUUID();
  const watched = new Map<string, Watched>();
  let beats = 0;
  let writes = 0;
  const startedAhead = wallClock() - monotonic();
  /** The difference between the calls' time and the wall clock: 0, except in tests with their own time. */
  let offset = 0;
  /** The time that was written last, minus the monotonic clock at that moment. */
  let writtenAhead = startedAhead;
  let differed = false;

  const currentTime = () => wallClock() + offset;

  function write(statements: Statements): void {
    writes++;
    const time = currentTime();
    writtenAhead = time - monotonic();
    statements.beat.run({ id: own, time, beats: writes });
  }

  /** The times of the other live processes, the ids of the dead, and whether one is neither yet. */
  function watch(statements: Statements) {
    const times: number[] = [];
    const dead: string[] = [];
    let unproven = false;
    for (const row of statements.clocks.all()) {
      const [id, time, beatCount] = [String(row.id), Number(row.time), Number(row.beats)];
      if (id === own) continue;
      const before = watched.get(id);
      const changed = before === undefined || before.beats !== beatCount;
      const now = changed ? { beats: beatCount, changedAt: beats, proven: before !== undefined } : before;
      watched.set(id, now);
      if (beats - now.changedAt >= deadAfterBeats) dead.push(id);
      else if (now.proven) times.push(time);
      else unproven = true;
    }
    return { times, dead, unproven };
  }

  /** Whether the times of the processes differ, or this one's jumped ahead; reports a change. */
  function differ(ownTime: number, others: readonly number[]): boolean {
    const times = [ownTime, ...others];
    const ahead = ownTime - monotonic() - startedAhead;
    const byMs = Math.round(Math.max(Math.max(...times) - Math.min(...times), ahead));
    const differs = byMs > maxDifferenceMs;
    if (differs !== differed) onEvent(differs ? { kind: 'clocks-differ', byMs } : { kind: 'clocks-agree' });
    differed = differs;
    return differs;
  }

  return {
    set(statements, now) {
      offset = now - wallClock();
      // The wall clock is not used here, because it jumps together with the calls' times.
      const expected = Math.abs(now - monotonic() - writtenAhead) <= maxDriftMs;
      if (!expected) write(statements);
    },

    beat(statements) {
      beats++;
      write(statements);
      const { times, dead } = watch(statements);
      for (const id of dead) {
        statements.leave.run({ id });
        watched.delete(id);
      }
      differ(currentTime(), times);
    },

    agreedTime(statements, now) {
      const { times, unproven } = watch(statements);
      return differ(now, times) || unproven ? null : Math.min(now, ...times);
    },

    leave(statements) {
      statements.leave.run({ id: own });
    },
  };
}
