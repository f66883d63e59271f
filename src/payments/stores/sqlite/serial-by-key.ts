/** Runs tasks with the same key one after the other, in call order, and those with different keys concurrently. */
export function createSerialByKey(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const latest = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const done = (latest.get(key) ?? Promise.resolve()).then(work);
    // A failure concerns only its own caller, not the next task.
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
