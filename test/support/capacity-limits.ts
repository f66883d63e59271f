import { type CapacityLimits, unbounded } from '../../src/load/capacity.ts';

/** The limits of what callers may use: these for the given resources, and high ones for the others. */
export const capacityLimits = ({
  requestsPerCaller = 1000,
  ...totals
}: Partial<CapacityLimits['totals'] & Omit<CapacityLimits, 'totals'>> = {}): CapacityLimits => ({
  totals: {
    ...unbounded.totals,
    requests: 1000,
    arriving: 64 * 2 ** 20,
    values: 1_000_000,
    unread: 256 * 2 ** 20,
    ...totals,
  },
  requestsPerCaller,
});
