import { expect, test } from 'vitest';
import { judge } from '../long/payment-history/checker.ts';
import { runHistory } from '../long/payment-history/run.ts';
import { makePlan } from '../long/payment-history/workload.ts';
import { sharedStates } from '../support/payment-states.ts';

/** `npm run check:payments` is the longer version of this test. */
test.concurrent.each(sharedStates)(
  'clients, faults and crashes at random leave no payment sent twice and no false answer, in $name',
  async (kind) => {
    const { counts, violations } = judge(
      await runHistory(makePlan(1, 200, { waitMs: 120, pauseMs: 700 }), kind),
    );
    expect(violations).toEqual([]);
    // Some payments were made; how many depends on the machine.
    const [done = 0, unknown = 0] = ['DONE', 'UNKNOWN'].map((state) => counts.get(`record: ${state}`));
    expect(done + unknown).toBeGreaterThan(7);
    expect(unknown).toBeGreaterThan(1);
    expect(counts.get('event: SIGKILL and restart')).toBeGreaterThan(0);
  },
);
