/** A turn of the event loop that takes less found nothing to do, in milliseconds. */
const emptyTurnMs = 0.01;

/**
 * Keeps this process, with the load and the bank in it, from falling asleep. To wake a core that sleeps costs 10 to 20 µs
 * on a virtual machine, and whoever sends pays for it: a contender that leaves the load waiting would be charged more for
 * each byte that it writes than one that does not.
 * Answers the function that lets it sleep again, which says how much of the time there was nothing to do.
 */
export function stayAwake(): () => number {
  const started = performance.now();
  let last = started;
  let idleMs = 0;
  let isAwake = true;
  const turn = () => {
    if (!isAwake) return;
    const now = performance.now();
    if (now - last < emptyTurnMs) idleMs += now - last;
    last = now;
    setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isAwake = false;
    return idleMs / (performance.now() - started);
  };
}
