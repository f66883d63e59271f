import type { Limits } from '../../src/load/fixed-limits.ts';

/** A process that is started with test/support/main.ts reads its limits from this variable. */
export const limitsVariable = 'TEST_LIMITS';

/** The variable that gives a process these limits instead of the fixed ones. */
export const withLimits = (own: Partial<Limits>): Record<string, string> => ({
  [limitsVariable]: JSON.stringify(own),
});
