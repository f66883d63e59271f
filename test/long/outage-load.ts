import { z } from 'zod';

/** A read that was asked for: when (milliseconds of performance.now()), and how it ended. */
export interface Ask {
  readonly startedAt: number;
  endedAt: number | null;
  /** `good`, an error's code, `refused` where it was an open breaker's, or `no answer`. */
  outcome: string | null;
}

const answer = z.object({
  errors: z.array(z.object({ message: z.string(), extensions: z.object({ code: z.string() }) })).optional(),
});

/** So many different callers ask, in turn. */
const callers = 50;
const everyMs = 10;

/**
 * Asks for another customer again and again, so many times a second whatever becomes of the answers.
 * `stop` asks no more, and waits for those that are under way.
 */
export function startLoad(url: string, perSecond: number) {
  const asks: Ask[] = [];
  const underWay = new Set<Promise<void>>();
  const startedAt = performance.now();

  async function ask(nth: number): Promise<void> {
    const entry: Ask = { startedAt: performance.now(), endedAt: null, outcome: null };
    asks.push(entry);
    entry.outcome = await outcomeOf(url, nth).catch(() => 'no answer');
    entry.endedAt = performance.now();
  }

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * perSecond);
    while (asks.length < due) {
      const asked = ask(asks.length).finally(() => underWay.delete(asked));
      underWay.add(asked);
    }
  }, everyMs);

  return {
    asks,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

const query = 'query Customer($id: ID!) { bank { customer(customerId: $id) { email } } }';

async function outcomeOf(url: string, nth: number): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Ocp-Apim-Subscription-Key': 'key',
      'Auth-Provider-Name': 'provider',
      'Auth-ID': `caller-${nth % callers}`,
    },
    body: JSON.stringify({ query, variables: { id: `c-${nth}` } }),
  });
  const { errors = [] } = answer.parse(await response.json());
  const [error] = errors;
  if (error === undefined) return 'good';
  return error.message.includes('given time to recover') ? 'refused' : error.extensions.code;
}
