import { getHeapStatistics } from 'node:v8';
import { valueBytes } from './capacity.ts';

/**
 * Limits that are the same for every operator: sizes of requests and answers, memory, and times. They are not settings, because
 * operators have no information to choose them well. `bankql check --limits` prints them, and `npm run configuration` writes them
 * into docs/configuration.md.
 */

interface Limit {
  /**
   * A fixed value, or a value that grows with the heap: one for each `unit` bytes of a part of the heap, at
   * most `most`.
   */
  readonly is: number | { readonly part: number; readonly most: number; readonly unit: number };
  /** The unit in which the value is shown. */
  readonly as: 'count' | 'bytes' | 'ms' | 'share';
  /** What is limited, for the documentation. */
  readonly meaning: string;
}

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

const count = (is: number, meaning: string): Limit => ({ is, as: 'count', meaning });
const bytes = (is: number, meaning: string): Limit => ({ is, as: 'bytes', meaning });
const milliseconds = (is: number, meaning: string): Limit => ({ is, as: 'ms', meaning });
/** A part of the heap in bytes, with a maximum in megabytes. */
const heapBytes = (part: number, most: number, meaning: string): Limit => ({
  is: { part, most: most * megabyte, unit: 1 },
  as: 'bytes',
  meaning,
});
/** A number that grows with the heap: one for each `unit` bytes of this part of the heap, at most `most`. */
const perHeap = (part: number, unit: number, most: number, meaning: string): Limit => ({
  is: { part, most, unit },
  as: 'count',
  meaning,
});

const table = {
  // Queries for the screens of apps have up to 600 tokens and 9 levels. Checking a document of the maximum size takes a few
  // milliseconds.
  queryTokens: count(2000, 'tokens in a query'),
  queryDepth: count(15, 'levels in a query'),
  queryAliases: count(
    30,
    'aliases below the root of a query; a fragment counts each time it is spread, here and in the next three limits',
  ),
  // A GraphQL gateway joins the fields that it delegates in one tick into one query, with each field at the root.
  queryRootFields: count(50, 'fields at the root of a query'),
  queryDirectives: count(20, 'directives in a query'),
  queryFields: count(500, 'fields in a query'),
  // The longest valid document with all its variables takes about half of this.
  requestBytes: bytes(100_000, 'length of a request body; a longer one is refused with 413'),
  // About 16 MB of JSON with usual records. Writing it takes less than a second of work, in slices.
  answerValues: count(100_000, 'fields and list entries in an answer'),
  answerBytes: bytes(16 * megabyte, 'length of an answer in JSON'),
  // A page of 10,000 transactions has about 6 MB. An answer takes up to five times its length when it is parsed.
  bankAnswerBytes: bytes(8 * megabyte, 'length of an answer of the bank'),
  // Enough for a few REST calls, one after the other. The value is never below BANK_TIMEOUT_MS or
  // BANK_TRANSFER_TIMEOUT_MS.
  operationMs: milliseconds(
    20_000,
    'deadline for all reads of a query; at least `BANK_TIMEOUT_MS` and `BANK_TRANSFER_TIMEOUT_MS`',
  ),
  // With a lower share, a few slow calls would open a breaker. With a higher one, callers would wait for a bank that is down.
  breakerShare: {
    is: 0.5,
    as: 'share',
    meaning: 'share of failed and slow calls at which the breaker of a bank operation opens',
  },
  // Branches and products change rarely. A correction is visible after a minute at most.
  publicCacheMs: milliseconds(60_000, 'how long branches and products are cached'),
  // The grace periods in the Helm chart and the systemd units leave 20 s after the last payment.
  storeAwayMs: milliseconds(
    10_000,
    'how long a stopping process waits for an unavailable payment store after its last payment',
  ),
  // A phone in a tunnel is online again within this time. An answer that waits longer only uses memory.
  unreadMs: milliseconds(30_000, 'how long a client may read nothing of its answer'),
  // A request uses up to a megabyte while it runs. More than 256 requests at a time would only wait for each
  // other.
  requests: perHeap(1, megabyte, 256, 'requests in progress; the workers share this limit'),
  // A backend that forwards the requests of many users without their identity still gets a quarter.
  requestsPerCaller: count(64, 'requests in progress of one caller'),
  // A request is at most 100 kB long, so this is enough for 600 slow senders.
  arrivingBytes: heapBytes(1 / 16, 64, 'incomplete requests; one caller uses at most a quarter'),
  builtValues: perHeap(
    1 / 4,
    valueBytes,
    (4096 * megabyte) / valueBytes,
    'values of unfinished answers; one caller uses at most half',
  ),
  // Unread answers are not in the heap, but use the memory of the same machine.
  unreadBytes: heapBytes(
    1 / 8,
    256,
    'answers that clients have not read; one caller uses at most an eighth; the workers share this limit',
  ),
  // An idle connection takes about 30 kB.
  sockets: perHeap(1, 128 * kilobyte, 16_384, 'connections of clients'),
  documentBytes: heapBytes(1 / 16, 64, 'cache of prepared documents'),
  publicCacheBytes: heapBytes(1 / 32, 32, 'cache of branches and products'),
  // A waiting call uses about 3 kB. There are at most 256 requests; if each has fewer than ten waiting calls, the limit is not
  // reached.
  waitingCalls: perHeap(1 / 16, 4 * kilobyte, 16_384, 'REST calls that wait for a connection to the bank'),
  // The bank's answers are not in the heap, but use the memory of the same machine.
  arrivingBankBytes: heapBytes(1 / 8, 256, 'answers of the bank that are not parsed yet'),
  // The limit for each of the two logs. Beyond it, the newest lines are dropped and counted.
  unwrittenLogBytes: heapBytes(1 / 64, 32, 'lines of the log that could not be written yet'),
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof table;
export type Limits = Readonly<Record<LimitName, number>>;

const sizeOf = ({ is }: Limit, heap: number): number =>
  typeof is === 'number' ? is : Math.floor(Math.min((is.part * heap) / is.unit, is.most));

/** The limits of a process with a heap of this maximum size, in bytes. */
export const limitsOf = (heap: number): Limits =>
  Object.fromEntries(Object.entries(table).map(([name, limit]) => [name, sizeOf(limit, heap)])) as Limits;

/** The limits of this process. */
export const limits: Limits = limitsOf(getHeapStatistics().heap_size_limit);

/** A length in the largest unit in which it is exact, or has one decimal. */
function shownBytes(value: number): string {
  if (value >= megabyte) return `${Number((value / megabyte).toFixed(1))} MB`;
  return value >= 1000 ? `${Number((value / 1000).toFixed(1))} kB` : `${value} bytes`;
}

function shown(value: number, as: Limit['as']): string {
  if (as === 'bytes') return shownBytes(value);
  if (as === 'ms') return `${value / 1000} s`;
  return as === 'share' ? `${value * 100} %` : String(value);
}

function described({ is, as }: Limit): string {
  if (typeof is === 'number') return shown(is, as);
  const { part, most, unit } = is;
  const share = part === 1 ? 'the heap' : `1/${1 / part} of the heap`;
  return unit === 1
    ? `${share}, at most ${shown(most, as)}`
    : `one for each ${shownBytes(unit)} of ${share}, at most ${most}`;
}

/** Each limit: its name, its meaning, its value in this process, and the rule for the value. */
export const limitRows = (these: Limits = limits) =>
  Object.entries(table).map(([name, limit]: [string, Limit]) => ({
    name,
    meaning: limit.meaning,
    value: shown(these[name as LimitName], limit.as),
    rule: described(limit),
  }));

/** A limit in words, for the message that refuses a setting which the limit replaced. */
export function fixedText(name: LimitName): string {
  const limit: Limit = table[name];
  return `${described(limit)} (${limit.meaning.replaceAll('`', '')})`;
}
