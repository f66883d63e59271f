/** The deadline of a payment. */
export const deadlineMs = 2000;
/** What its lease is longer: as `commands/serve.ts` has it. */
export const leaseMarginMs = 10_000;
export const leaseMs = deadlineMs + leaseMarginMs;
