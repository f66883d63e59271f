import { StartError } from '../../errors.ts';
import { auditEntry } from '../../payments/audit.ts';
import type { PaymentRecord } from '../../payments/record.ts';
import { type PaymentStore, StoreUnavailable } from '../../payments/store/store.ts';
import { readSearch, readState, type Search, searchHelp, searchOptions } from './find.ts';
import { confirm, type OperatorTask, readIdPrefix, sentence, subcommand, thesePayments } from './operator.ts';
import { jsonLine, paymentLines, paymentTable } from './payment-table.ts';

const options = {
  ...searchOptions,
  as: { type: 'string' },
  by: { type: 'string' },
  reason: { type: 'string' },
  yes: { type: 'boolean' },
} as const;

export const settle = subcommand(
  `usage: bankql payments settle <id, or at least its first six digits> --as done|rejected --by "<name>" --reason "<text>"
       bankql payments settle <search> --as done|rejected --by "<name>" --reason "<text>" [--yes]

Says of payments of unknown outcome what the bank did. It changes nothing at the bank and cannot be undone. A search is
shown first, and settled when you say yes; without a terminal, --yes says it. Each payment that is settled leaves a
line of the audit log on standard output. Exit code 1: something was not settled, and the message says what.

${searchHelp}  --as STATE           done (the bank executed it), or rejected (it did not, and will not)
  --by NAME            who says so
  --reason TEXT        how it is known

  bankql payments settle 4f8c21d09b7e --as done --by "Ada" --reason "booked, says the bank's ledger"
  bankql payments settle --account alice-current --since 3h --as rejected --by "Ada" --reason "incident 4711"
  bankql payments settle --bank-text "Saldo insuficiente" --as rejected --by "Ada" --reason "nothing is executed then, says the bank"
`,
  options,
  ({ values, positionals, now }) => {
    // All payments with one text are settled by one decision.
    const defaultLimit = values['bank-text'] === undefined ? undefined : Number.POSITIVE_INFINITY;
    const search = readSearch({ ...values, state: values.state ?? [] }, now, defaultLimit);
    const isSearch = search.isNarrowed || search.states !== null;
    const [text, ...others] = positionals;
    const prefix = readIdPrefix(text);
    if (others.length > 0 || (prefix === null) === !isSearch)
      throw new StartError(
        'settle takes one id, or at least its first six digits; or a search such as --account a-1 --since 3h.',
      );
    if (text !== undefined && prefix === null) throw new StartError(`${text} is no id, nor how one begins.`);
    if (search.states?.some((state) => state !== 'UNKNOWN'))
      throw new StartError('Only UNKNOWN payments are settled: leave --state out, or let it be unknown.');
    const state = readState(values.as);
    if (state !== 'DONE' && state !== 'REJECTED')
      throw new StartError(
        '--as says what the bank did: done (it executed the payment), or rejected (it did not).',
      );
    const by = sentence('by', 'who says so', values.by);
    const reason = sentence('reason', 'how it is known', values.reason);
    const verdict = { state, settledBy: `${by}: ${reason} (${new Date(now).toISOString()})` } as const;
    return prefix === null ? settleFound(search, verdict, values.yes === true) : settleOne(prefix, verdict);
  },
);

interface Verdict {
  readonly state: 'DONE' | 'REJECTED';
  readonly settledBy: string;
}

const settleOne =
  (prefix: string, verdict: Verdict): OperatorTask =>
  async ({ lookAtStore, withStore, now, write }) => {
    const record = await lookAtStore((store) => findUnknown(store, prefix));
    const line = await withStore((store) => settleRecord(store, record, verdict, now));
    write(`${paymentLines(record)}\nSettled as ${verdict.state} by ${verdict.settledBy}\n${line}`);
  };

/** All of a search, after one question. Payments that were settled stay settled if a later one fails. */
const settleFound =
  (search: Search, verdict: Verdict, isConfirmed: boolean): OperatorTask =>
  async (context) => {
    const { lookAtStore, withStore, now, write } = context;
    const { records, hasMore } = await lookAtStore((store) => search.run(store, { states: ['UNKNOWN'] }));
    if (hasMore)
      throw new StartError(
        `More than ${records.length} UNKNOWN payments are found: narrow the search, or give --limit. Nothing was written.`,
      );
    if (records.length === 0) throw new StartError('No UNKNOWN payment is found. Nothing was written.');
    write(paymentTable(records, now));
    await confirm(context, `Settle ${thesePayments(records.length)} as ${verdict.state}?`, isConfirmed);
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
          // The store is unavailable for the other payments too.
          if (error.cause instanceof StoreUnavailable) break;
        }
      }
      write(`Settled ${settled} of ${records.length} as ${verdict.state} by ${verdict.settledBy}\n`);
      if (missed.length > 0) throw new StartError(missed.join('\n'));
    });
  };

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
  return jsonLine({ level: 30, time: now, audit: 'payment', ...entry, msg: 'payment settled' });
}

/** The one UNKNOWN payment whose id begins so. Errors: StartError. */
async function findUnknown(store: PaymentStore, prefix: string): Promise<PaymentRecord> {
  // Not by state: a damaged record is UNKNOWN, whatever the column of its state says.
  const found = await store.search({ idPrefix: prefix });
  const [record, ...others] = found.filter(({ state }) => state === 'UNKNOWN');
  if (others.length > 0) {
    throw new StartError(
      `${others.length + 1} UNKNOWN payments begin with ${prefix}: give more of the id. Nothing was written.`,
    );
  }
  if (record !== undefined) return record;
  const [other] = found;
  if (other !== undefined)
    throw new StartError(
      `${other.id} is ${other.state}: only an UNKNOWN payment is settled. Nothing was written.`,
    );
  throw new StartError(`No payment begins with ${prefix}. Nothing was written.`);
}
