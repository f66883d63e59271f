/**
 * Work that is done one after the other, whether the work before it succeeded or failed.
 * `idle` resolves when all work is done.
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
