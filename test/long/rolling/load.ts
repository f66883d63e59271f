import { credentials } from '../../support/bankql.ts';
import { payBody, transfer } from '../../support/payment-client.ts';

/** A request, and its result. */
export interface Asked {
  readonly startedAt: number;
  /** The idempotency key of a payment, which is also its account at the bank; null for a read. */
  readonly key: string | null;
  /** `200`, `200 OUTCOME_UNKNOWN`, `502`, or why there is no answer; null until there is a result. */
  outcome: string | null;
}

export const good = '200';

/** One in this number of requests is a payment. */
const paymentEvery = 10;
const everyMs = 10;
const readBody = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });

/**
 * Sends this number of requests a second, whether or not they are answered. `stop` ends the sending, and
 * waits for the remaining answers. Keys of payments begin with `name`.
 */
export function startLoad(url: string, perSecond: number, name: string) {
  const asked: Asked[] = [];
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    while (asked.length < due) {
      const nth = asked.length;
      const entry: Asked = {
        startedAt: performance.now(),
        key: nth % paymentEvery === 0 ? `${name}-${nth}` : null,
        outcome: null,
      };
      asked.push(entry);
      const answered = outcomeOf(url, entry.key).then((outcome) => {
        entry.outcome = outcome;
        underWay.delete(answered);
      });
      underWay.add(answered);
    }
  }, everyMs);
  return {
    asked,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

/** Sends a payment, or a read if there is no key. */
export async function outcomeOf(url: string, key: string | null): Promise<string> {
  try {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...credentials },
      body: key === null ? readBody : payBody(transfer(key)),
    });
    const text = await response.text();
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    return code === undefined ? String(response.status) : `${response.status} ${code}`;
  } catch (error) {
    const { cause, message } = error instanceof Error ? error : new Error(String(error));
    return cause instanceof Error ? cause.message : message;
  }
}

/** The number of requests with each outcome. */
export const tally = (asked: readonly Asked[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(Object.groupBy(asked, ({ outcome }) => outcome ?? 'no end')).map(([outcome, all = []]) => [
      outcome,
      all.length,
    ]),
  );
