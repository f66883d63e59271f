import { hrtime } from 'node:process';

/** Milliseconds of a clock that cannot be set, the same in all threads. */
export const steadyMs = (): number => Number(hrtime.bigint() / 1_000_000n);
