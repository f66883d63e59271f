/** Time, and something that comes again and again as it passes. */
export interface Clock {
  /** In milliseconds. */
  now(): number;
  /** Calls `tick` again and again, until the returned function is called. */
  every(ms: number, tick: () => void): () => void;
}

export const realClock: Clock = {
  now: () => performance.now(),
  every(ms, tick) {
    const timer = setInterval(tick, ms).unref();
    return () => clearInterval(timer);
  },
};
