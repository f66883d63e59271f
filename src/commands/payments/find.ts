import type { ParseArgsOptionsConfig } from 'node:util';
import { z } from 'zod';
import { StartError } from '../../errors.ts';
import { hashCaller, recordId } from '../../payments/caller.ts';
import { type PaymentRecord, type PaymentState, paymentStates } from '../../payments/record.ts';
import { type PaymentQuery, type PaymentStore, parseJson } from '../../payments/store/store.ts';
import { expectNone, type Given, readIdPrefix, readTime, subcommand } from './operator.ts';
import { paymentHistory, paymentJson, paymentLines, paymentTable, printable } from './payment-table.ts';

/** How many records are shown, and how many are settled at once, unless `--limit` says otherwise. */
const usualLimit = 100;

/** The options of a search for payments; the same for every command that searches. */
export const searchOptions = {
  state: { type: 'string', multiple: true },
  id: { type: 'string' },
  key: { type: 'string' },
  caller: { type: 'string' },
  account: { type: 'string' },
  'track-id': { type: 'string' },
  'request-id': { type: 'string' },
  'bank-text': { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  limit: { type: 'string' },
} as const satisfies ParseArgsOptionsConfig;

export const searchHelp = `  --state STATES       unknown, pending, done or rejected; several with commas
  --id ID              the payment's own id, as the log names it, or at least its first six digits
  --key KEY            the client's idempotency key; needs --caller
  --caller WHO         provider/id as in Auth-Provider-Name and Auth-ID, apart at the last slash; or '["provider","id"]'
  --account ID         the account that pays or is paid
  --track-id ID        the Track-ID under which the bank knows the request
  --request-id ID      the X-Request-Id of the HTTP request that sent it, as the log has it
  --bank-text TEXT     the bank's text, whole, as show prints it
  --since, --until T   when it began: 90s, 15m, 2h, 3d (ago), 2026-01-15, 2026-01-15T10:32Z (UTC if no zone is named)
  --limit N            how many at most (default: ${usualLimit})
`;

type SearchValues = Given<typeof searchOptions>['values'];

export type Search = ReturnType<typeof readSearch>;

export const readState = (text: string | undefined): PaymentState | undefined =>
  paymentStates.find((state) => state === text?.toUpperCase());

/** The query of the options. `defaultLimit`: how many records there may be without --limit. Errors: StartError. */
export function readSearch(values: SearchValues, now: number, defaultLimit = usualLimit) {
  const wanted = (values.state ?? []).flatMap((text) => text.split(',')).map(readStateOption);
  const limit = values.limit === undefined ? defaultLimit : readLimit(values.limit);
  const bankText = values['bank-text'];
  const caller = values.caller === undefined ? null : readCaller(values.caller);
  if (values.key !== undefined && values.id !== undefined)
    throw new StartError('--id and --key each name one payment: give one of them.');
  if (values.key !== undefined && caller === null)
    throw new StartError('--key is looked up together with its caller: give --caller provider/id too.');
  // A record's id says whose it is.
  const id =
    values.key === undefined || caller === null
      ? undefined
      : recordId({ caller, subscriptionKey: '' }, values.key);
  const query: PaymentQuery = {
    states: wanted.length === 0 ? undefined : wanted,
    idPrefix: id ?? readIdOption(values.id),
    trackId: values['track-id'],
    requestId: values['request-id'],
    accountId: values.account,
    since: values.since === undefined ? undefined : readTime('since', values.since, now),
    until: values.until === undefined ? undefined : readTime('until', values.until, now),
  };
  return {
    /** The requested states; null for any. */
    states: query.states ?? null,
    /** Whether the search has a condition besides states and a limit. */
    isNarrowed:
      caller !== null ||
      bankText !== undefined ||
      Object.entries(query).some(([name, value]) => name !== 'states' && value !== undefined),
    /** Shape: the records, and whether there are more than the limit. */
    async run(store: PaymentStore, change: Partial<PaymentQuery> = {}) {
      const hash = caller === null || id !== undefined ? undefined : hashCaller(store.secret, ...caller);
      // One more than the limit shows whether there are more records.
      const wanted = { ...query, caller: hash, newestFirst: true, limit: limit + 1, ...change };
      const found =
        bankText === undefined ? await store.search(wanted) : await searchText(store, bankText, wanted);
      return { records: found.slice(0, limit), hasMore: found.length > limit };
    },
  };
}

/** How many records are in memory at once while few of them may match. */
const pageSize = 1_000;

/** The records whose recorded text of the bank is this one. No index has the texts: it reads all that match the query. */
async function searchText(
  store: PaymentStore,
  text: string,
  { limit, ...query }: PaymentQuery & { readonly limit: number },
): Promise<PaymentRecord[]> {
  const matching: PaymentRecord[] = [];
  for (let after: PaymentQuery['after']; matching.length < limit; ) {
    const page = await store.search({ ...query, after, limit: pageSize });
    // `show` prints control characters as escapes.
    matching.push(
      ...page.filter(({ bankText: said }) => said !== null && (said === text || printable(said) === text)),
    );
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = { created_at: last.createdAt, id: last.id };
  }
  return matching.slice(0, limit);
}

function readIdOption(text: string | undefined): string | undefined {
  const prefix = text === undefined ? undefined : readIdPrefix(text);
  if (prefix === null) throw new StartError(`--id is an id, or at least its first six digits, not ${text}.`);
  return prefix;
}

function readStateOption(text: string): PaymentState {
  const state = readState(text.trim());
  if (state === undefined)
    throw new StartError(`--state is unknown, pending, done or rejected, not ${text}.`);
  return state;
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new StartError(`--limit is a whole number from 1, not ${text}.`);
}

/** A provider may be a URL, with slashes of its own. */
function readCaller(text: string): readonly [provider: string, id: string] {
  const given = text.startsWith('[') ? parseJson(text) : /^(.+)\/([^/]+)$/s.exec(text)?.slice(1);
  const { data: pair } = z.tuple([z.string(), z.string()]).safeParse(given);
  if (pair === undefined)
    throw new StartError(`--caller is provider/id, or '["provider","id"]', not ${text}.`);
  return pair;
}

export const find = subcommand(
  `usage: bankql payments find [options]

Payments as a table, newest first: those in any state unless the options narrow them.

${searchHelp}  --json               whole records, as JSON

  bankql payments find --state unknown,pending --since 3d
  bankql payments find --request-id 3f2b6c1e-9a41-4c1c-8f0e-1d6f0a2b7c55
  bankql payments find --caller https://login.example//alice --key 7c9e6679-7425-40de-944b-e07fc1f90ae7
`,
  { ...searchOptions, json: { type: 'boolean' } },
  ({ values, positionals, now }) => {
    expectNone('find', positionals);
    const search = readSearch(values, now);
    return async ({ lookAtStore, write, writeError }) => {
      const { records, hasMore } = await lookAtStore((store) => search.run(store));
      if (values.json === true) write(paymentJson(records));
      else if (records.length === 0) write('No payment is found.\n');
      else write(paymentTable(records, now, { withState: search.states?.length !== 1 }));
      if (hasMore)
        writeError(`There are more than these ${records.length}: narrow the search, or give --limit.\n`);
    };
  },
);

export const show = subcommand(
  `usage: bankql payments show <id, or at least its first six digits> [--json]

One payment and its story: every change of its state, when, by which process, for which request, and what the bank said.

  bankql payments show 4f8c21d09b7e
`,
  { json: { type: 'boolean' } },
  ({ values, positionals }) => {
    const [text, ...others] = positionals;
    const prefix = readIdPrefix(text);
    if (prefix === null || others.length > 0)
      throw new StartError('show takes one id, or at least its first six digits.');
    return async ({ lookAtStore, write }) => {
      const record = await lookAtStore((store) => findOne(store, prefix));
      write(
        values.json === true ? paymentJson([record]) : `${paymentLines(record)}\n${paymentHistory(record)}`,
      );
    };
  },
);

/** The one payment whose id begins so. Errors: StartError. */
async function findOne(store: PaymentStore, idPrefix: string): Promise<PaymentRecord> {
  const [record, ...others] = await store.search({ idPrefix, limit: 2 });
  if (record === undefined) throw new StartError(`No payment begins with ${idPrefix}.`);
  if (others.length > 0)
    throw new StartError(`Several payments begin with ${idPrefix}: give more of the id.`);
  return record;
}
