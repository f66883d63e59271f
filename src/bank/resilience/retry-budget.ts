/** The largest burst of retries. */
const maxBurst = 10;
/** The range of the delay before a retry, in milliseconds: random, so that retries are not synchronized. */
const minDelayMs = 20;
const maxDelayMs = 120;

/** Limits retries to a share of the calls, so that a failing bank does not get twice the load. */
export function createRetryBudget(share: number) {
  let left = share === 0 ? 0 : maxBurst;
  return {
    /** A call was made. */
    earn(): void {
      left = Math.min(maxBurst, left + share);
    },
    /** Whether a retry may be made; if so, it is taken from the budget. */
    spend(): boolean {
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}

export const retryDelayMs = () => minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
