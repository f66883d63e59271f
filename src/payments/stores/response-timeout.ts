const ticks = 10;

/**
 * Calls `onTimeout` once `timeoutMs` (and up to a tenth more) have passed without `clear`, not counting time in which the process
 * was too busy to read a response.
 *
 * After a pause the timers run before the sockets are read, so that a single timer would declare a response missing
 * that has long arrived. Of each pause, however long, an interval counts one tick; and what has arrived by the last
 * tick is read before it counts as missing.
 */
export function startResponseTimeout(timeoutMs: number, onTimeout: () => void) {
  let left = ticks;
  let last: NodeJS.Immediate | undefined;
  const timer = setInterval(() => {
    if (--left > 0) return;
    clearInterval(timer);
    last = setImmediate(onTimeout);
  }, timeoutMs / ticks);
  return {
    clear() {
      clearInterval(timer);
      clearImmediate(last);
    },
  };
}
