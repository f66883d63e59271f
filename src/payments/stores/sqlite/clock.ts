import { randomUUID } from 'node:crypto';
import type { OnStoreEvent } from '../store-event.ts';
import type { Statements } from './statements.ts';

/**
 * A process is taken for dead when its row did not change while this one beat so many times. Not by elapsed time: a lock
 * that keeps all of them from beating must not make them look dead.
 */
const deadAfterBeats = 15;

/**
 * How far the clocks of live processes may lie apart, and one run ahead of the time that passed since its process began,
 * before nothing is forgotten any more.
 */
const maxDifferenceMs = 60 * 60 * 1000;

/** How far a clock may be from what its last beat promised before the others are told at once. */
const maxDriftMs = 60_000;

export const defaultBeatMs = 2_000;

interface Watched {
  readonly beats: number;
  /** How many times this process had beaten when the row was seen to change. */
  readonly changedAt: number;
  /** Whether it was ever seen to change: until then its row may be left over from long ago. */
  readonly proven: boolean;
}

/**
 * What the processes that share a store agree on as the time, for deciding which finished records are old enough to be
 * forgotten: forgetting one too early would send its payment again, and one process may have a wrong clock.
 *
 * Each process has a row with its time and a count of its beats. Who is alive is judged by the counts, which do not
 * depend on anybody's time. Processes of one machine have one clock, which may jump for all of them: a time is believed
 * only as far as a monotonic clock has gone on since the start of the process.
 */
export interface SharedClock {
  /** Takes the time of a call for this process's time, and tells the others where they would not expect it. */
  set(statements: Statements, now: number): void;
  /** To be called every beatMs, in a transaction: writes this process's row, and removes those of the dead. */
  beat(statements: Statements): void;
  /**
   * The lowest time of all that live; null while they differ by over an hour, `now` is over an hour ahead of what the
   * process's start and the time since then allow, or one has yet to be watched.
   */
  agreedTime(statements: Statements, now: number): number | null;
  /** Removes this process's row. */
  leave(statements: Statements): void;
}

/** Both in milliseconds. */
export interface ClockSources {
  /** Since 1970. */
  readonly wallClock: () => number;
  /** Of a clock that cannot be set. */
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
  /** How far the time of the calls is from the wall clock: nothing, where a test does not bring its own. */
  let offset = 0;
  /** What was written last, less the monotonic clock then. */
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

  /** Whether the times of this process and of the others differ, or this one's jumped ahead; news of it is told. */
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
      // Not by the wall clock, which jumps with the times of the calls.
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
