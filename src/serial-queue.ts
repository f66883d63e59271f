/** Runs functions one after the other. A failure does not stop the later ones. `idle` resolves when all have ended. */
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
