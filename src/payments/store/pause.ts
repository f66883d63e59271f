/** Waits for a time, without keeping the process alive. */
export function pause(ms?: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, ms).unref();
  return promise;
}
