import { parseArgs } from 'node:util';
import { type OpenStoreOptions, openStore } from './open-store.ts';
import { paymentJson, paymentLines, paymentTable } from './operator-table.ts';
import { type PaymentRecord, type PaymentState, type PaymentStore, StoreUnavailable } from './store.ts';

export interface OperatorCommand {
  /** What follows `bankql payments`. */
  readonly args: readonly string[];
  /** The store of the bankql that runs, or ran. */
  readonly state: Omit<OpenStoreOptions, 'create'> & { readonly url: string };
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly now?: () => number;
}

const usage = `usage: npm run payments -- list [--state unknown|pending|done|rejected] [--json]
       npm run payments -- settle <id, or how it begins> --as done|rejected --by "<name>" --reason "<text>"
`;

const states: Readonly<Record<string, PaymentState>> = {
  unknown: 'UNKNOWN',
  pending: 'PENDING',
  done: 'DONE',
  rejected: 'REJECTED',
};

/** What the operator did not get, and why. */
class CommandError extends Error {
  override readonly name = 'CommandError';
}

/**
 * `bankql payments`: what an operator does with payments of unknown outcome. Sends nothing to the bank.
 * Shape: the process's exit code: 0, or 1 with a message where nothing was written.
 */
export async function runOperatorCommand(command: OperatorCommand): Promise<number> {
  const { args, state, write, writeError, now = Date.now } = command;
  try {
    const work = readArgs(args);
    const { url, ...options } = state;
    if (url === 'memory:') {
      throw new CommandError(
        'STATE_URL is memory:, or not set: such payments are known to their own process alone. Set it as for the bankql whose payments these are.',
      );
    }
    const store = await openStore(url, { ...options, create: false }).catch((error: Error) => {
      throw new CommandError(error.message);
    });
    try {
      write(await work(store, now()));
    } finally {
      await store.close();
    }
    return 0;
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof StoreUnavailable)) throw error;
    writeError(`${error.message}\n`);
    return 1;
  }
}

/** What the arguments ask for: work on a store that ends with what is to be printed. */
function readArgs(args: readonly string[]): (store: PaymentStore, now: number) => Promise<string> {
  const [name, ...rest] = args;
  if (name === 'list') return readList(rest);
  if (name === 'settle') return readSettle(rest);
  throw new CommandError(usage.trimEnd());
}

function readList(args: string[]) {
  const { values } = parsed(() =>
    parseArgs({ args, options: { state: { type: 'string' }, json: { type: 'boolean' } } }),
  );
  const state = states[values.state?.toLowerCase() ?? 'unknown'];
  if (state === undefined)
    throw misused(`--state is unknown, pending, done or rejected, not ${values.state}.`);

  return async (store: PaymentStore, now: number) => {
    const records = await store.search({ states: [state] }, now);
    if (values.json === true) return paymentJson(records);
    return records.length === 0 ? `No payment is ${state}.\n` : paymentTable(records, now);
  };
}

function readSettle(args: string[]) {
  const { values, positionals } = parsed(() =>
    parseArgs({
      args,
      allowPositionals: true,
      options: { as: { type: 'string' }, by: { type: 'string' }, reason: { type: 'string' } },
    }),
  );
  const [prefix = '', ...others] = positionals;
  if (others.length > 0 || !/^[0-9a-f]{6,64}$/.test(prefix)) {
    throw misused('settle takes one id, or at least its first six digits.');
  }
  const state = states[values.as?.toLowerCase() ?? ''];
  if (state !== 'DONE' && state !== 'REJECTED') {
    throw misused('--as says what the bank did: done (it executed the payment), or rejected (it did not).');
  }
  const by = text('by', 'who says so', values.by);
  const reason = text('reason', 'how it is known', values.reason);

  return async (store: PaymentStore, now: number) => {
    const record = await findUnknown(store, prefix, now);
    const settledBy = `${by}: ${reason} (${new Date(now).toISOString()})`;
    const settled = await store.settle(record.id, state, settledBy, now).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
      throw new CommandError(`${error.message} Whether it was settled is not known: list it.`);
    });
    if (!settled)
      throw new CommandError(`${record.id} was settled or answered meanwhile; nothing was written.`);
    return `${paymentLines(record)}\nSettled as ${state} by ${settledBy}\n`;
  };
}

/** The one UNKNOWN payment whose id begins so. Errors: CommandError. */
async function findUnknown(store: PaymentStore, prefix: string, now: number): Promise<PaymentRecord> {
  const [record, ...others] = await store.search({ states: ['UNKNOWN'], idPrefix: prefix }, now);
  if (others.length > 0) {
    throw new CommandError(
      `${others.length + 1} UNKNOWN payments begin with ${prefix}: give more of the id. Nothing was written.`,
    );
  }
  if (record !== undefined) return record;
  for (const state of ['PENDING', 'DONE', 'REJECTED'] as const) {
    const found = (await store.search({ states: [state], idPrefix: prefix }, now))[0];
    if (found === undefined) continue;
    throw new CommandError(
      `${found.id} is ${state}: only an UNKNOWN payment is settled. Nothing was written.`,
    );
  }
  throw new CommandError(`No payment begins with ${prefix}. Nothing was written.`);
}

function text(option: string, meaning: string, value: string | undefined): string {
  const trimmed = value?.trim() ?? '';
  if (!/^\P{C}{1,500}$/u.test(trimmed)) throw misused(`--${option} says ${meaning}, in one line.`);
  return trimmed;
}

/** Errors: CommandError for what parseArgs does not know. */
function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw misused(error instanceof Error ? error.message : String(error));
  }
}

const misused = (message: string) => new CommandError(`${message}\n${usage.trimEnd()}`);
