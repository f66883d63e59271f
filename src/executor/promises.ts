export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** Ignores rejections of promises that nobody awaits any more, including those in lists and behind other promises. */
export function ignoreRejections(value: unknown): void {
  if (isPromise(value)) value.then(ignoreRejections, () => {});
  else if (Array.isArray(value)) value.forEach(ignoreRejections);
}
