import { expect, test } from 'vitest';
import { judge } from '../long/payment-history/checker.ts';
import { runHistory } from '../long/payment-history/run.ts';
import { makePlan } from '../long/payment-history/workload.ts';
import { sharedStates } from '../support/payment-states.ts';

/** `npm run check:payments` is the longer one. */
test.concurrent.each(sharedStates)(
  'clients, faults and crashes at random leave no payment sent twice and no false answer, in $name',
  async (kind) => {
    const { counts, violations } = judge(
      await runHistory(makePlan(1, 200, { waitMs: 120, pauseMs: 700 }), kind),
    );
    expect(violations).toEqual([]);
    // Something happened at all.
    expect(counts.get('record: DONE')).toBeGreaterThan(5);
    expect(counts.get('record: UNKNOWN')).toBeGreaterThan(1);
    expect(counts.get('event: SIGKILL and restart')).toBeGreaterThan(0);
  },
);
