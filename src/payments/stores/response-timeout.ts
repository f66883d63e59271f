/** The time that a response may take, until it is cleared. */
export interface ResponseTimeout {
  clear(): void;
}

const ticks = 10;

interface Waiting {
  left: number;
  readonly onTimeout: () => void;
}

/** One timer for all that wait equally long: a payment waits several times. */
const waitingByPeriod = new Map<number, { readonly waiting: Set<Waiting>; readonly timer: NodeJS.Timeout }>();

/**
 * Calls `onTimeout` once `timeoutMs` (and up to a tenth more) have passed without `clear`, not counting time in which the process
 * was too busy to read a response.
 *
 * After a pause the timers run before the sockets are read, so that a single timer would declare a response missing
 * that has long arrived. Of each pause, however long, an interval counts one tick; and what has arrived by the last
 * tick is read before it counts as missing.
 */
export function startResponseTimeout(timeoutMs: number, onTimeout: () => void): ResponseTimeout {
  const period = timeoutMs / ticks;
  const { waiting, timer } = waitingByPeriod.get(period) ?? startTimer(period);
  // The first tick comes early.
  const entry = { left: ticks + 1, onTimeout };
  waiting.add(entry);
  return {
    clear() {
      entry.left = Number.POSITIVE_INFINITY;
      if (!waiting.delete(entry) || waiting.size > 0) return;
      clearInterval(timer);
      waitingByPeriod.delete(period);
    },
  };
}

function startTimer(period: number) {
  const waiting = new Set<Waiting>();
  const timer = setInterval(() => {
    // `clear` before the last moment keeps it from running.
    for (const entry of waiting)
      if (--entry.left <= 0)
        setImmediate(() => {
          if (waiting.has(entry)) entry.onTimeout();
        });
  }, period);
  const started = { waiting, timer };
  waitingByPeriod.set(period, started);
  return started;
}
