/**
 * Runs functions one after the other. If one fails, the next ones run nevertheless. `idle` resolves when all have
 * ended.
 */
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
