import { type LedgerLimits, unbounded } from '../../src/ledger.ts';

/** What callers may hold: so much of these resources, and much of the others. */
export const ledgerLimits = ({
  requestsPerCaller = 1000,
  eventLoopLagMs = 10_000,
  ...totals
}: Partial<LedgerLimits['totals'] & Omit<LedgerLimits, 'totals'>> = {}): LedgerLimits => ({
  totals: {
    ...unbounded.totals,
    requests: 1000,
    arriving: 64 * 2 ** 20,
    values: 1_000_000,
    unread: 256 * 2 ** 20,
    ...totals,
  },
  requestsPerCaller,
  eventLoopLagMs,
});
