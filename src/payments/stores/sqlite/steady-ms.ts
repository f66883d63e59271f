/** Milliseconds of a clock that cannot be set, the same in all threads of a process. */
export const steadyMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
