import { z } from 'zod';
import { StartError } from '../../errors.ts';
import { hashCaller, recordId } from '../../payments/caller.ts';
import { type PaymentRecord, type PaymentState, paymentStates } from '../../payments/payment-record.ts';
import { type PaymentQuery, type PaymentStore, parseJson } from '../../payments/store/store.ts';
import { type CliContext, type Given, UsageError, usualLimit } from '../command.ts';
import type { listOptions, searchOptions } from '../commands.ts';
import { operatorOf, readIdPrefix, readTime } from './operator.ts';
import { paymentHistory, paymentJson, paymentLines, paymentTable, printable } from './payment-listing.ts';

type SearchValues = Given<typeof searchOptions>['values'];

export type Search = ReturnType<typeof readSearch>;

export const readState = (text: string | undefined): PaymentState | undefined =>
  paymentStates.find((state) => state === text?.toUpperCase());

/**
 * Reads the options into a query. `defaultLimit`: the maximum number of records without --limit.
 * Errors: UsageError.
 */
export function readSearch(values: SearchValues, now: number, defaultLimit = usualLimit) {
  const wanted = (values.state ?? []).flatMap((text) => text.split(',')).map(readStateOption);
  const limit = values.limit === undefined ? defaultLimit : readLimit(values.limit);
  const bankText = values['bank-text'];
  const caller = values.caller === undefined ? null : readCaller(values.caller);
  if (values.key !== undefined && values.id !== undefined)
    throw new UsageError('--id and --key each name one payment: give one of them.');
  if (values.key !== undefined && caller === null)
    throw new UsageError('--key is looked up together with its caller: give --caller provider/id too.');
  // A record's id is derived from its caller and its key, so the id replaces both in the query.
  const id =
    values.key === undefined || caller === null
      ? undefined
      : recordId({ caller, subscriptionKey: '' }, values.key);
  const query: PaymentQuery = {
    states: wanted.length === 0 ? undefined : wanted,
    idPrefix: id ?? (values.id === undefined ? undefined : readIdPrefix(values.id)),
    trackId: values['track-id'],
    requestId: values['request-id'],
    accountId: values.account,
    since: values.since === undefined ? undefined : readTime('since', values.since, now),
    until: values.until === undefined ? undefined : readTime('until', values.until, now),
  };
  return {
    /** The requested states; undefined for any. */
    states: query.states,
    /** Shape: the records, and whether there are more than the limit. */
    async run(store: PaymentStore, change: Partial<PaymentQuery> = {}) {
      const hash = caller === null || id !== undefined ? undefined : hashCaller(store.secret, ...caller);
      // One record more than the limit shows whether there are more.
      const wanted = { ...query, caller: hash, newestFirst: true, limit: limit + 1, ...change };
      const found =
        bankText === undefined ? await store.search(wanted) : await searchText(store, bankText, wanted);
      return { records: found.slice(0, limit), hasMore: found.length > limit };
    },
  };
}

/** The number of records in a page of a search for a text. Few of them may match. */
const pageSize = 1_000;

/**
 * The records with this text of the bank. The store has no index of the texts, so all records that match the query are read.
 */
async function searchText(
  store: PaymentStore,
  text: string,
  { limit, ...query }: PaymentQuery & { readonly limit: number },
): Promise<PaymentRecord[]> {
  const matching: PaymentRecord[] = [];
  for (let after: PaymentQuery['after']; matching.length < limit; ) {
    const page = await store.search({ ...query, after, limit: pageSize });
    // `show` prints control characters as escapes, so a text with these escapes matches too.
    matching.push(
      ...page.filter(({ bankText: said }) => said !== null && (said === text || printable(said) === text)),
    );
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = { created_at: last.createdAt, id: last.id };
  }
  return matching.slice(0, limit);
}

function readStateOption(text: string): PaymentState {
  const state = readState(text.trim());
  if (state === undefined)
    throw new UsageError(`--state is unknown, pending, done or rejected, not ${text}.`);
  return state;
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new UsageError(`--limit is a whole number from 1, not ${text}.`);
}

/** Splits the text at its last slash, because the provider may be a URL. */
function readCaller(text: string): readonly [provider: string, id: string] {
  const given = text.startsWith('[') ? parseJson(text) : /^(.+)\/([^/]+)$/s.exec(text)?.slice(1);
  const { data: pair } = z.tuple([z.string(), z.string()]).safeParse(given);
  if (pair === undefined)
    throw new UsageError(`--caller is provider/id, or '["provider","id"]', not ${text}.`);
  return pair;
}

/** `bankql payments list`. */
export async function list(context: CliContext, { values }: Given<typeof listOptions>): Promise<number> {
  const { now = Date.now(), write, writeError } = context;
  const search = readSearch(values, now);
  const { records, hasMore } = await operatorOf(context).lookAtStore((store) => search.run(store));
  if (values.json === true) write(paymentJson(records));
  else if (records.length === 0) write('No payment is found.\n');
  else write(paymentTable(records, now));
  if (hasMore)
    writeError(`There are more than these ${records.length}: narrow the search, or give --limit.\n`);
  return 0;
}

/** `bankql payments show`. */
export async function show(
  context: CliContext,
  { values, words: [text, ...others] }: Given<Pick<typeof listOptions, 'json'>>,
): Promise<number> {
  if (text === undefined || others.length > 0)
    throw new UsageError('show takes one id, or at least its first six digits.');
  const prefix = readIdPrefix(text);
  const record = await operatorOf(context).lookAtStore((store) => findOne(store, prefix));
  context.write(
    values.json === true ? paymentJson([record]) : `${paymentLines(record)}\n${paymentHistory(record)}`,
  );
  return 0;
}

/** Finds the payment whose id begins with `idPrefix`. Errors: StartError if no payment or several payments match. */
export async function findOne(store: PaymentStore, idPrefix: string): Promise<PaymentRecord> {
  const [record, ...others] = await store.search({ idPrefix, limit: 2 });
  if (record === undefined) throw new StartError(`No payment begins with ${idPrefix}.`);
  if (others.length > 0)
    throw new StartError(`Several payments begin with ${idPrefix}: give more of the id.`);
  return record;
}
