import { parseArgs } from 'node:util';
import type { PaymentRecord, PaymentStore } from '../../payments/store.ts';
import { expectNone, parsed, readIdPrefix } from './arguments.ts';
import { CommandError, type OperatorSubcommand, type OperatorTask } from './context.ts';
import { paymentJson, paymentLines, paymentTable } from './payment-table.ts';
import { readSearch, type Search, searchHelp, searchOptions } from './search.ts';
import { paymentHistory } from './show-history.ts';

const options = { ...searchOptions, json: { type: 'boolean' } } as const;

/** Searches, and prints what is found. */
const print =
  (search: Search, { json, none }: { readonly json: boolean; readonly none: string }): OperatorTask =>
  async ({ withStore, now, write, note }) => {
    const { records, hasMore } = await withStore((store) => search.run(store, now));
    const withState = search.states?.length !== 1;
    if (json) write(paymentJson(records));
    else write(records.length === 0 ? `${none}\n` : paymentTable(records, now, { withState }));
    if (hasMore) note(`There are more than these ${records.length}: narrow the search, or give --limit.\n`);
  };

export const list: OperatorSubcommand = {
  help: `usage: bankql payments list [options]

Payments as a table, oldest first; those of unknown outcome where --state names no other.

${searchHelp}  --json               whole records, as JSON

  bankql payments list --state unknown,pending --since 3d
`,
  read(args, now) {
    const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }));
    expectNone('list', positionals);
    const search = readSearch({ ...values, state: values.state ?? ['unknown'] }, now);
    return print(search, {
      json: values.json === true,
      none: `No payment is ${search.states?.join(' or ')}${search.isNarrowed ? ', of those that are searched for' : ''}.`,
    });
  },
};

export const find: OperatorSubcommand = {
  help: `usage: bankql payments find [options]

Payments in any state, oldest first. At least one option says which.

${searchHelp}  --json               whole records, as JSON

  bankql payments find --request-id 3f2b6c1e-9a41-4c1c-8f0e-1d6f0a2b7c55
  bankql payments find --caller https://login.example//alice --key 7c9e6679-7425-40de-944b-e07fc1f90ae7
`,
  read(args, now) {
    const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }));
    expectNone('find', positionals);
    const search = readSearch(values, now);
    if (search.states === null && !search.isNarrowed)
      throw new CommandError('find needs to be told what: --request-id, --track-id, --caller, --account, …');
    return print(search, { json: values.json === true, none: 'No payment is found.' });
  },
};

export const show: OperatorSubcommand = {
  help: `usage: bankql payments show <id, or at least its first six digits> [--json]

One payment and its story: every change of its state, when, by which process, for which request, and what the bank said.

  bankql payments show 4f8c21d09b7e
`,
  read(args) {
    const { values, positionals } = parsed(() =>
      parseArgs({ args, options: { json: { type: 'boolean' } }, allowPositionals: true }),
    );
    const [text = '', ...others] = positionals;
    const prefix = readIdPrefix(text);
    if (prefix === null || others.length > 0)
      throw new CommandError('show takes one id, or at least its first six digits.');
    return async ({ withStore, now, write }) => {
      const record = await withStore((store) => findOne(store, prefix, now));
      write(
        values.json === true ? paymentJson([record]) : `${paymentLines(record)}\n${paymentHistory(record)}`,
      );
    };
  },
};

/** The one payment whose id begins so. Errors: CommandError. */
async function findOne(store: PaymentStore, idPrefix: string, now: number): Promise<PaymentRecord> {
  const [record, ...others] = await store.search({ idPrefix, limit: 2 }, now);
  if (record === undefined) throw new CommandError(`No payment begins with ${idPrefix}.`);
  if (others.length > 0)
    throw new CommandError(`Several payments begin with ${idPrefix}: give more of the id.`);
  return record;
}
