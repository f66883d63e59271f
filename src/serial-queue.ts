/** Runs work one after the other, even after a failure. `idle` resolves when all work is done. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run<T>(work: () => Promise<T>): Promise<T> {
      const done = last.then(work);
      last = done.catch(() => {});
      return done;
    },
    get idle(): Promise<unknown> {
      return last;
    },
  };
}
