import { Pool } from 'undici';
import { q4, type Shape } from '../../../bench/shapes.ts';

/** The results of requests: the number with each status, or with the code of an error of the connection. */
type Outcomes = Readonly<Record<string, number>>;

interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** The percentage of requests with a new text. */
  readonly uniquePercent: number;
  readonly shape?: Shape;
}

const callers = 2048;

/** The text with a new alias, so that its document and its plan are new. */
const uniqueText = (text: string, number: number) => text.replace(/\blabel\b/, `a${number}: label`);

/** Sends a query over each connection as soon as the previous one is answered, until it is stopped. Callers take turns. */
export function startLoad({ url, connections, uniquePercent, shape = q4 }: LoadOptions) {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const outcomes: Record<string, number> = {};
  let isStopped = false;
  let sent = 0;

  async function ask(): Promise<void> {
    const nth = sent++;
    const query = nth % 100 < uniquePercent ? uniqueText(shape.query, nth) : shape.query;
    const outcome = await outcomeOf(pool, query, nth % callers);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    // A client that is refused does not repeat its request at once.
    if (outcome !== '200') await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async function keepAsking(): Promise<void> {
    while (!isStopped) await ask();
  }

  const asking = Array.from({ length: connections }, keepAsking);
  return {
    outcomes: (): Outcomes => ({ ...outcomes }),
    sent: () => sent,
    /** Stops sending, and waits for requests in progress. */
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(asking);
      await pool.close();
    },
  };
}

async function outcomeOf(pool: Pool, query: string, caller: number): Promise<string> {
  try {
    const { statusCode, body } = await pool.request({
      path: '/graphql',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'ocp-apim-subscription-key': `key-${caller}`,
        'auth-provider-name': 'bench',
        'auth-id': `caller-${caller}`,
      },
      body: JSON.stringify({ query }),
    });
    const text = await body.text();
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    return code === undefined ? String(statusCode) : `${statusCode} ${code}`;
  } catch (error) {
    return String(Reflect.get(Object(error), 'code') ?? error);
  }
}
