/** How many entries of an iterator are looked at that does not say how many it has. */
const maxDrained = 10_000;

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/** Promises, in lists and behind other promises too, may be rejected: nobody waits for them any more. Never throws. */
export function ignoreRejections(value: unknown): void {
  try {
    if (isPromise(value)) value.then(ignoreRejections, ignore);
    else if (Array.isArray(value) || value instanceof Set || value instanceof Map)
      for (const entry of value) ignoreRejections(entry);
    else if (holdsItsEntries(value)) for (const entry of value.take(maxDrained)) ignoreRejections(entry);
  } catch {
    // Nobody asked for what it holds.
  }
}

const ignore = () => {};

/**
 * Whether it is an iterator over entries that exist already, as that of an array or a Map. Others can be closed, and make
 * their entries when they are asked for: none are made now.
 */
const holdsItsEntries = (value: unknown): value is IteratorObject<unknown> =>
  value instanceof Iterator && !('return' in value);
