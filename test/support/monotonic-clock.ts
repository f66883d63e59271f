/**
 * The clock that performance.now shows, which tests can set. It is in place before the sources are loaded, since some of them
 * keep the function that they find; files of one worker share it.
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
