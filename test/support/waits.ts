import { setTimeout as delay } from 'node:timers/promises';

/** The functions with which tests wait. Tests use no timers of their own (test/guards.test.ts). */

/**
 * Waits until the condition is true. Only the test's own time limit ends this, so that a slow machine takes longer and changes no
 * verdict.
 */
export async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await delay(2);
}

/** Waits until there is a value. */
export async function untilFound<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await delay(2);
  }
}

/** Lets the event loop run, so that queued work and arrived data are processed. */
export async function turns(count = 3): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Counts the iterations of the event loop, from 1, until it is disposed of. */
export function countIterations(): { readonly count: number } & Disposable {
  let count = 0;
  let isOver = false;
  const next = () => {
    count++;
    if (!isOver) setImmediate(next);
  };
  next();
  return {
    get count() {
      return count;
    },
    [Symbol.dispose]() {
      isOver = true;
    },
  };
}

/**
 * Waits for a while before a check that an unwanted event has not happened. A slow machine cannot make such a
 * check fail. If possible, wait for a later event instead, such as the next request.
 */
export const quietFor = (milliseconds: number): Promise<void> => delay(milliseconds);

/**
 * The delay of a bank, a client or a person in a test. It is a part of the case, and no verdict depends on its
 * length.
 */
export const lateBy = (milliseconds: number): Promise<void> => delay(milliseconds);
