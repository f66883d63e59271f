import type { Logger } from 'pino';
import { formatAge } from '../commands/payments/payment-listing.ts';
import type { Config } from '../config/config.ts';
import type { RowCounts } from '../payments/store/driver.ts';
import { authProvider, subscriptionKey } from '../sandbox/identity.ts';
import type { ServiceStart } from './workers/messages.ts';

export interface Started extends ServiceStart {
  readonly metricsUrl: string | null;
  /** The address of the sandbox bank; null if a real bank is served. */
  readonly sandboxUrl: string | null;
  readonly bankUrl: string;
  readonly config: Pick<Config, 'graphiql' | 'identity' | 'workers'>;
}

interface AnnouncementOptions {
  /** Whether the output is a terminal. A terminal gets text for people; any other output gets lines of the log. */
  readonly isTerminal: boolean;
  readonly write: (text: string) => void;
  /** A logger that writes at every LOG_LEVEL, so that a restart is always logged. */
  readonly logger: Logger;
}

/** Announces that the process serves, will stop, and has stopped. */
export function createAnnouncements({ isTerminal, write, logger }: AnnouncementOptions) {
  const say = (words: string) => (isTerminal ? write(`${words}.\n`) : logger.info(words));
  return {
    started(started: Started): void {
      const { url, bankUrl: bank, metricsUrl: metrics } = started;
      if (isTerminal) write(`${banner(started)}\n`);
      else logger.info({ url, bank, ...(metrics !== null && { metrics }) }, facts(started).join(' '));
    },
    stopping: () => say('bankql stops: requests and payments that are under way end first'),
    stopped: () => say('bankql has stopped'),
  };
}

/** The sentences about the start: the addresses, the bank and the payment store. */
const facts = ({ url, metricsUrl, sandboxUrl, bankUrl, stateLine, config }: Started): readonly string[] => [
  `bankql serves GraphQL at ${url}/graphql${config.graphiql ? ' (GraphiQL in a browser)' : ''}.`,
  sandboxUrl === null
    ? `The bank is ${bankUrl}.`
    : `The bank is the embedded sandbox bank at ${sandboxUrl}; BANK_BASE_URL names a real one.`,
  ...(config.workers === 1 ? [] : [`${config.workers} workers share the port.`]),
  stateLine,
  `Health: ${url}/health, ready for traffic: ${url}/ready.`,
  ...(metricsUrl === null ? [] : [`Metrics: ${metricsUrl}.`]),
];

/** The headers of alice, a customer of the sandbox bank. */
export const alice = {
  'Ocp-Apim-Subscription-Key': subscriptionKey,
  'Auth-Provider-Name': authProvider,
  'Auth-ID': 'alice',
};

/** The header that callers send if tokens identify them. */
export const bearer = { Authorization: 'Bearer your-token' };

/** The facts and, with the sandbox bank, a first query to paste. */
function banner(started: Started): string {
  const lines = [...facts(started), ''];
  if (started.sandboxUrl === null) return lines.join('\n');
  const isByHeaders = started.config.identity === null;
  const headers = Object.entries(isByHeaders ? alice : bearer);
  return [
    ...lines,
    isByHeaders ? 'A first query, as alice:' : "A first query, with a token that is alice's:",
    '',
    `  curl ${started.url}/graphql -H 'Content-Type: application/json' \\`,
    ...headers.map(([name, value]) => `    -H '${name}: ${value}' \\`),
    '    -d \'{"query":"{ viewer { account { label balance { amount currency } } } }"}\'',
    '',
  ].join('\n');
}

/** The line about the payment store at the start: the age of its newest record, or a loud warning that records are missing. */
export function describeState(
  counts: RowCounts | null,
  loss: string | null,
  now: number,
  isInMemory = false,
): string {
  if (loss !== null)
    return `*** PAYMENTS ARE REFUSED *** ${loss} Reads go on. See docs/operate.md, "A store that lost records".`;
  if (counts === null) return 'Payment records: the store does not answer at the moment.';
  // A store in memory is new at each start.
  if (isInMemory) return 'Payment records: none yet; they are kept in memory, until bankql stops.';
  const { pending, unknown, newestAt } = counts;
  if (newestAt === null) return 'Payment records: none.';
  const open = pending + unknown === 0 ? '' : `; ${pending} PENDING, ${unknown} UNKNOWN`;
  return `Payment records: the newest is ${formatAge(now - newestAt)} old${open}.`;
}
