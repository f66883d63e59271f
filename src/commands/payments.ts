import { readConfig } from '../config/config.ts';
import { StartError, stopStart } from '../errors.ts';
import { type PaymentStore, StoreUnavailable } from '../payments/store.ts';
import { initStore, openStore } from '../payments/stores/open-store.ts';
import type { CliContext } from './command.ts';
import { find, list, show } from './payments/find.ts';
import { findMissing } from './payments/from-log.ts';
import {
  expectNone,
  type OperatorContext,
  type OperatorSubcommand,
  subcommand,
} from './payments/operator.ts';
import { settle } from './payments/settle.ts';
import { acceptLoss, backup } from './payments/store.ts';

const init = subcommand(
  `usage: bankql payments init

Makes the payment store that STATE_URL names: a SQLite file and its folder, or the tables in PostgreSQL. Run it once, for a new
store. A store that is there stays as it is.

  STATE_URL=sqlite:/var/lib/bankql/state.db bankql payments init
`,
  {},
  ({ positionals }) => {
    expectNone('init', positionals);
    return async ({ state, write }) => {
      await initStore(state.url).catch(stopStart());
      write('The payment store is there.\n');
    };
  },
);

const subcommands: ReadonlyMap<string, OperatorSubcommand> = new Map(
  Object.entries({
    init,
    list,
    find,
    show,
    'find-missing': findMissing,
    settle,
    backup,
    'accept-loss': acceptLoss,
  }),
);

const usage = `usage: bankql payments <command> [options]

  init          makes the payment store that STATE_URL names
  list          payments of unknown outcome as a table, or of other states; oldest first
  find          payments by key, caller, account, Track-ID, request id, time
  show          one payment and its story
  find-missing  payments that a log names and the store does not have
  settle        says what the bank did with payments of unknown outcome
  backup        copies the records while bankql serves
  accept-loss   lets payments go on after records were lost

\`bankql payments <command> --help\` tells more. STATE_URL has to be that of the bankql whose payments these are.
Exit codes: 0 done, 1 not done, or not all of it; the message on standard error says why.
`;

/** What a test gives in the place of the configuration, the clock and the store. */
interface Given {
  readonly state?: OperatorContext['state'];
  readonly now?: number;
  readonly open?: typeof openStore;
}

/**
 * `bankql payments`: what an operator does with payments and their records. Sends nothing to the bank. Gives the exit code.
 * Errors: StartError, which says what was not done.
 */
export async function managePayments(
  context: CliContext,
  {
    state = readConfig({ ...context.environment, SANDBOX: 'on' }).state,
    now = Date.now(),
    open = openStore,
  }: Given = {},
): Promise<number> {
  const [name = '', ...rest] = context.args;
  const subcommand = subcommands.get(name);
  const isHelp = (word: string) => ['--help', '-h'].includes(word);
  if (isHelp(name) || name === 'help' || (subcommand !== undefined && rest.some(isHelp))) {
    context.write(subcommand?.help ?? usage);
    return 0;
  }
  if (subcommand === undefined)
    throw new StartError(`${usage}${name === '' ? '' : `\nThere is no command "${name}".`}`.trimEnd());
  const task = subcommand.read(rest, now);
  try {
    await task({
      ...context,
      state,
      now,
      withStore: (work) => withStore(open, { ...state, readOnly: false }, work),
      lookAtStore: (work) => withStore(open, { ...state, readOnly: true }, work),
    });
  } finally {
    context.progress(null);
  }
  return 0;
}

/** Errors: StartError if there is no such store, or it is away. */
async function withStore<T>(
  open: typeof openStore,
  { url, ...options }: OperatorContext['state'] & { readonly readOnly: boolean },
  work: (store: PaymentStore) => Promise<T>,
): Promise<T> {
  if (url === 'memory:') {
    throw new StartError(
      'STATE_URL is memory:, or not set: only its own process knows such payments. Set it as for the bankql whose payments these are.',
    );
  }
  // Only the bankql that serves says what has expired: with a shorter retention than there, a command would delete records.
  const kept = { ...options, retentionMs: Number.MAX_SAFE_INTEGER };
  const store = await open(url, { ...kept, create: false }).catch(stopStart());
  try {
    return await work(store);
  } catch (error) {
    throw error instanceof StoreUnavailable ? new StartError(error.message) : error;
  } finally {
    await store.close();
  }
}
