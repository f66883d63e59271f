/** Runs functions in the order of their arrival, at most `most` at a time. A failure does not stop the later ones. */
export function createQueue(most: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (running < most) running++;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        // The next function takes the place of this one.
        const next = waiting.shift();
        if (next === undefined) running--;
        else next();
      }
    },
  };
}

/** Runs functions one after the other. A failure does not stop the later ones. */
export const createSerialQueue = () => createQueue(1);
