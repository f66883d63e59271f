import { StartError } from '../../errors.ts';
import { auditEntry } from '../../payments/audit.ts';
import type { PaymentRecord } from '../../payments/payment-record.ts';
import { type PaymentStore, StoreUnavailable } from '../../payments/store/store.ts';
import { type CliContext, type Given, UsageError } from '../command.ts';
import type { settleOptions } from '../commands.ts';
import { findOne, readSearch, readState, type Search } from './list.ts';
import { confirm, operatorOf, readIdPrefix, sentence, thesePayments } from './operator.ts';
import { isoTime, paymentLines, paymentTable, printable } from './payment-listing.ts';

/**
 * `bankql payments settle`: asks the operator, and then settles one payment, or those of a search. If one
 * fails, the payments before it stay settled.
 */
export async function settle(context: CliContext, given: Given<typeof settleOptions>): Promise<number> {
  const { now = Date.now(), write } = context;
  const { wanted, verdict } = readSettlement(given, now);
  const { lookAtStore, withStore } = operatorOf(context);
  const records = await lookAtStore(async (store) =>
    typeof wanted === 'string' ? [await findUnknown(store, wanted)] : searchUnknown(store, wanted),
  );
  write(typeof wanted === 'string' ? records.map(paymentLines).join('') : paymentTable(records, now));
  const question = `Settle ${thesePayments(records.length)} as ${verdict.state}?`;
  await confirm(context, question, given.values.yes === true);
  await withStore(async (store) => {
    const missed: string[] = [];
    let settled = 0;
    for (const record of records) {
      try {
        write(await settleRecord(store, record, verdict, now));
        settled++;
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        missed.push(error.message);
        // The loop ends, because the store is unavailable for the other payments too.
        if (error.cause instanceof StoreUnavailable) break;
      }
    }
    write(`Settled ${settled} of ${records.length} as ${verdict.state} by ${verdict.settledBy}\n`);
    if (missed.length > 0) throw new StartError(missed.join('\n'));
  });
  return 0;
}

interface Verdict {
  readonly state: 'DONE' | 'REJECTED';
  readonly settledBy: string;
}

/**
 * Reads the command line.
 * Shape: the beginning of the payment's id, or a search; and the verdict.
 * Errors: UsageError.
 */
function readSettlement(
  { values, words: [text, ...others] }: Given<typeof settleOptions>,
  now: number,
): { readonly wanted: string | Search; readonly verdict: Verdict } {
  // With --bank-text there is no default limit, because the verdict holds for all payments with that text.
  const defaultLimit = values['bank-text'] === undefined ? undefined : Number.POSITIVE_INFINITY;
  const search = readSearch(values, now, defaultLimit);
  const { as, by, reason, yes: _yes, limit: _limit, ...narrowing } = values;
  const isSearch = Object.keys(narrowing).length > 0;
  if (others.length > 0 || (text === undefined) === !isSearch)
    throw new UsageError(
      'settle takes one id, or at least its first six digits; or a search such as --account a-1 --since 3h.',
    );
  if (search.states?.some((state) => state !== 'UNKNOWN'))
    throw new UsageError('Only UNKNOWN payments are settled: leave --state out, or let it be unknown.');
  const wanted = text === undefined ? search : readIdPrefix(text);
  const state = readState(as);
  if (state !== 'DONE' && state !== 'REJECTED')
    throw new UsageError(
      '--as says what the bank did: done (it executed the payment), or rejected (it did not).',
    );
  const said = `${sentence('by', 'who says so', by)}: ${sentence('reason', 'how it is known', reason)}`;
  return { wanted, verdict: { state, settledBy: `${said} (${isoTime(now)})` } };
}

/** All UNKNOWN payments that a search finds. Errors: StartError if it finds none, or more than the limit. */
async function searchUnknown(store: PaymentStore, search: Search): Promise<PaymentRecord[]> {
  const { records, hasMore } = await search.run(store, { states: ['UNKNOWN'] });
  if (hasMore)
    throw new StartError(
      `More than ${records.length} UNKNOWN payments are found: narrow the search, or give --limit. Nothing was written.`,
    );
  if (records.length === 0) throw new StartError('No UNKNOWN payment is found. Nothing was written.');
  return records;
}

/** Settles a record. Shape: its line of the audit log. Errors: StartError. */
async function settleRecord(
  store: PaymentStore,
  record: PaymentRecord,
  { state, settledBy }: Verdict,
  now: number,
): Promise<string> {
  const settled = await store.settle(record.id, state, settledBy).catch((error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new StartError(`${error.message} Whether ${record.id} was settled is not known: show it.`, {
      cause: error,
    });
  });
  if (!settled)
    throw new StartError(`${record.id} was settled or answered meanwhile; nothing was written to it.`);
  const entry = { ...auditEntry({ ...record, code: null, updatedAt: now }, state), settledBy };
  const line = { level: 30, time: now, audit: 'payment', ...entry, msg: 'payment settled' };
  return `${printable(JSON.stringify(line))}\n`;
}

/** Finds a payment of unknown outcome. Errors: those of `findOne`; StartError if its outcome is known. */
async function findUnknown(store: PaymentStore, prefix: string): Promise<PaymentRecord> {
  const record = await findOne(store, prefix);
  if (record.state === 'UNKNOWN') return record;
  throw new StartError(
    `${record.id} is ${record.state}: only an UNKNOWN payment is settled. Nothing was written.`,
  );
}
