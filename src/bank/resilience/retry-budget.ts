/** How many second attempts may come at once. */
const maxBurst = 10;
/** How long a second attempt waits, in milliseconds: at random, so that they do not come in step. */
const minDelayMs = 20;
const maxDelayMs = 120;

/**
 * How many second attempts the bank is asked to bear: a share of the calls, so that a bank on a bad day does not get
 * twice the load.
 */
export function createRetryBudget(share: number) {
  let left = share === 0 ? 0 : maxBurst;
  return {
    /** A call was made. */
    earn(): void {
      left = Math.min(maxBurst, left + share);
    },
    /** Whether a second attempt may be made; it is then spent. */
    spend(): boolean {
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}

export const retryDelayMs = () => minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
