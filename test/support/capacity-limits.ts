import { type CapacityLimits, unbounded } from '../../src/load/capacity.ts';

/** The given limits of capacity, and high limits for all other resources. */
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
