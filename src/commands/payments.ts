import { readConfig } from '../config/config.ts';
import { type PaymentStore, StoreUnavailable } from '../payments/store.ts';
import { openStore } from '../payments/stores/open-store.ts';
import type { CliContext } from './command.ts';
import { find, list, show } from './payments/find.ts';
import { findMissing } from './payments/from-log.ts';
import { CommandError, type OperatorContext, type OperatorSubcommand } from './payments/operator.ts';
import { settle } from './payments/settle.ts';
import { acceptLoss, backup, restore } from './payments/store.ts';
import type { ShowProgress } from './terminal.ts';

/** `bankql payments`: finds payments, settles those of unknown outcome, saves their records. Gives the exit code. */
export async function managePayments(terminal: CliContext): Promise<number> {
  const { environment, args, write, writeError, progress, ask } = terminal;
  const { state } = readConfig({ ...environment, SANDBOX: 'on' });
  return runOperatorCommand({ args, state, write, writeError, progress, ask });
}

export interface OperatorCommand {
  /** What follows `bankql payments`. */
  readonly args: readonly string[];
  readonly state: OperatorContext['state'];
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Shows progress; no progress is shown if it is left out. */
  readonly progress?: ShowProgress;
  /** See OperatorContext; if it is left out, there is nobody to ask. */
  readonly ask?: OperatorContext['ask'];
  readonly now?: () => number;
  /** How the store is opened; openStore if left out. */
  readonly open?: typeof openStore;
}

const subcommands: ReadonlyMap<string, OperatorSubcommand> = new Map(
  Object.entries({
    list,
    find,
    show,
    'find-missing': findMissing,
    settle,
    backup,
    restore,
    'accept-loss': acceptLoss,
  }),
);

const usage = `usage: bankql payments <command> [options]

  list          payments as a table, those of unknown outcome first of all
  find          payments by key, caller, account, Track-ID, request id, time
  show          one payment and its story
  find-missing  payments that a log names and the store does not have
  settle        says what the bank did with payments of unknown outcome
  backup        copies the records while bankql serves
  restore       puts a backup in the place of the records
  accept-loss   lets payments go on after records were lost

\`bankql payments <command> --help\` tells more. STATE_URL has to be that of the bankql whose payments these are.
Exit codes: 0 done, 1 not done, or not all of it; the message on standard error says why.
`;

/**
 * `bankql payments`: what an operator does with payments and their records. Sends nothing to the bank.
 * Shape: the process's exit code: 0, or 1 with a message that says what was not done.
 */
export async function runOperatorCommand(command: OperatorCommand): Promise<number> {
  const { args, state, write, writeError, progress = () => {} } = command;
  const { ask = null, now = Date.now, open = openStore } = command;
  const [name = '', ...rest] = args;
  const subcommand = subcommands.get(name);
  try {
    if (['--help', '-h', 'help'].includes(name)) return succeed(write, usage);
    if (subcommand === undefined)
      throw new CommandError(`${usage}${name === '' ? '' : `\nThere is no command "${name}".`}`.trimEnd());
    if (rest.includes('--help') || rest.includes('-h')) return succeed(write, subcommand.help);
    const at = now();
    const task = readTask(subcommand, rest, at);
    await task({
      state,
      now: at,
      withStore: (work) => withStore(open, { ...state, readOnly: false }, work),
      lookAtStore: (work) => withStore(open, { ...state, readOnly: true }, work),
      write,
      note: writeError,
      progress,
      ask,
    });
    return 0;
  } catch (error) {
    progress(null);
    if (!(error instanceof CommandError || error instanceof StoreUnavailable)) throw error;
    writeError(`${error.message}\n`);
    return 1;
  }
}

function succeed(write: (text: string) => void, text: string): 0 {
  write(text);
  return 0;
}

/** Errors: CommandError with the way in which the command is used. */
function readTask({ read, help }: OperatorSubcommand, args: string[], now: number) {
  try {
    return read(args, now);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const [forms = ''] = help.split('\n\n', 1);
    throw new CommandError(`${error.message}\n${forms}`);
  }
}

/** Errors: CommandError if there is no such store. */
async function withStore<T>(
  open: typeof openStore,
  { url, ...options }: OperatorContext['state'] & { readonly readOnly: boolean },
  work: (store: PaymentStore) => Promise<T>,
): Promise<T> {
  if (url === 'memory:') {
    throw new CommandError(
      'STATE_URL is memory:, or not set: only its own process knows such payments. Set it as for the bankql whose payments these are.',
    );
  }
  const store = await open(url, { ...options, create: false }).catch((error: Error) => {
    throw new CommandError(error.message);
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
