/** Runs work of the same key one after the other, in the order of the calls; that of different keys at once. */
export function createSerialByKey(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const done = (latest.get(key) ?? Promise.resolve()).then(work);
    // What became of it is for its own caller to know, not for the next one.
    const over = done.then(
      () => {},
      () => {},
    );
    latest.set(key, over);
    void over.then(() => {
      if (latest.get(key) === over) latest.delete(key);
    });
    return done;
  };
}
