/**
 * Replaces performance.now by a clock that tests can set. It is installed before the sources are loaded, because some of them
 * keep the function. Files of one worker share it.
 */
function install() {
  const real = performance.now.bind(performance);
  const installed = { now: real, real };
  performance.now = () => installed.now();
  return installed;
}

declare global {
  var monotonicClock: ReturnType<typeof install> | undefined;
}

globalThis.monotonicClock ??= install();
export const clock = globalThis.monotonicClock;
