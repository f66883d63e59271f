import { readConfig } from '../config/config.ts';
import { StartError, stopStart } from '../errors.ts';
import { openStore } from '../payments/store/open-store.ts';
import { type PaymentStore, StoreUnavailable } from '../payments/store/store.ts';
import type { CliContext } from './command.ts';
import { acceptLoss } from './payments/accept-loss.ts';
import { backup } from './payments/backup.ts';
import { find, show } from './payments/find.ts';
import { init } from './payments/init.ts';
import { notInMemory, type OperatorContext, type OperatorSubcommand } from './payments/operator.ts';
import { settle } from './payments/settle.ts';

const subcommands: ReadonlyMap<string, OperatorSubcommand> = new Map(
  Object.entries({ init, find, show, settle, backup, 'accept-loss': acceptLoss }),
);

const usage = `usage: bankql payments <command> [options]

  init          makes the payment store that STATE_URL names
  find          payments, newest first: all, or by state, key, caller, account, Track-ID, request id, time
  show          one payment and its story
  settle        says what the bank did with payments of unknown outcome
  backup        copies a SQLite store while bankql serves
  accept-loss   lets payments go on after records were lost, with those that a log names recorded as UNKNOWN

\`bankql payments <command> --help\` tells more. STATE_URL has to be that of the bankql whose payments these are. find
and show write nothing, neither in the store nor next to it.
Exit codes: 0 done, 1 not done, or not all of it; the message on standard error says why.
`;

/** Replacements for the configuration, the clock and the store, for tests. */
interface Given {
  readonly state?: OperatorContext['state'];
  readonly now?: number;
  readonly open?: typeof openStore;
}

/**
 * `bankql payments`: an operator's work with payments and their records. Sends nothing to the bank. Returns the exit code.
 * Errors: StartError, which says which work was not done.
 */
export async function managePayments(
  context: CliContext,
  {
    state = readConfig({ ...context.environment, NODE_ENV: undefined }).state,
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
  await task({
    ...context,
    state,
    now,
    withStore: (work) => withStore(open, { ...state, readOnly: false }, work),
    lookAtStore: (work) => withStore(open, { ...state, readOnly: true }, work),
  });
  return 0;
}

/** Errors: StartError if there is no such store, or it is away. */
async function withStore<T>(
  open: typeof openStore,
  { url, ...options }: OperatorContext['state'] & { readonly readOnly: boolean },
  work: (store: PaymentStore) => Promise<T>,
): Promise<T> {
  notInMemory(url);
  // Only the serving bankql decides which records have expired: a command with a shorter retention would delete too many.
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
