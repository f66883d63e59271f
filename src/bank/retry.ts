/** How many second attempts may come at once. */
const burst = 10;
/** How long a second attempt waits, in milliseconds: at random, so that they do not come in step. */
const shortestWait = 20;
const longestWait = 120;

/**
 * How many second attempts the bank is asked to bear: a share of the calls, so that a bank on a bad day does not get
 * twice the load.
 */
export function createRetryBudget(share: number) {
  let left = share === 0 ? 0 : burst;
  return {
    /** A call was made. */
    earn(): void {
      left = Math.min(burst, left + share);
    },
    /** Whether a second attempt may be made; it is then spent. */
    spend(): boolean {
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}

export const retryWaitMs = () => shortestWait + Math.random() * (longestWait - shortestWait);
