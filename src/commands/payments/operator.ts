import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf, StartError } from '../../errors.ts';
import type { OpenStoreOptions } from '../../payments/store/open-store.ts';
import type { PaymentStore } from '../../payments/store/store.ts';
import { parseDateTime } from '../../schema/date-time.ts';
import type { CliContext } from '../command.ts';

export interface OperatorContext extends Pick<CliContext, 'write' | 'writeError' | 'ask'> {
  /** The payment store, also used by the serving bankql. */
  readonly state: Omit<OpenStoreOptions, 'create'> & { readonly url: string };
  readonly now: number;
  /** Opens the store for the work, and closes it. Errors: StartError if it cannot be opened. */
  withStore<T>(work: (store: PaymentStore) => Promise<T>): Promise<T>;
  /** Like withStore, but writes nothing to the store or its folder: the service may run as another user. */
  lookAtStore<T>(work: (store: PaymentStore) => Promise<T>): Promise<T>;
}

/** A task whose arguments were read before the store is opened. Resolves when everything is printed. */
export type OperatorTask = (context: OperatorContext) => Promise<void>;

export interface OperatorSubcommand {
  readonly help: string;
  /** Errors: StartError for arguments that cannot be used. */
  read(args: string[], now: number): OperatorTask;
}

/** Errors: StartError for the records of the sandbox, which only its own process knows. */
export function notInMemory(url: string): void {
  if (url === 'memory:')
    throw new StartError(
      'STATE_URL is memory:, or not set: only its own process knows such payments. Set it as for the bankql whose payments these are.',
    );
}

/**
 * Asks before anything is written; `--yes` has answered already.
 * Errors: StartError if the answer is not yes, or nobody can be asked.
 */
export async function confirm(
  { ask }: Pick<OperatorContext, 'ask'>,
  question: string,
  isConfirmed: boolean,
): Promise<void> {
  if (isConfirmed) return;
  if (ask === null)
    throw new StartError(`${question} Nobody is at a terminal to be asked: say --yes. Nothing was written.`);
  const answer = await ask(`${question} [yes/no] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartError('Nothing was written.');
}

/** The words after a command's name, by its options. */
export type Given<O extends ParseArgsOptionsConfig> = Pick<
  ReturnType<typeof parseArgs<{ args: string[]; options: O; allowPositionals: true }>>,
  'values' | 'positionals'
> & { readonly now: number };

/** A command with its options. Errors of `read`: StartError with the command's usage. */
export const subcommand = <O extends ParseArgsOptionsConfig>(
  help: string,
  options: O,
  read: (given: Given<O>) => OperatorTask,
): OperatorSubcommand => ({
  help,
  read(args, now) {
    try {
      return read({ ...parseArgs({ args, options, allowPositionals: true }), now });
    } catch (error) {
      const [forms = ''] = help.split('\n\n', 1);
      throw new StartError(`${messageOf(error)}\n${forms}`);
    }
  },
});

/** An operator's sentence for the record. Errors: StartError if it is missing, or not one line. */
export function sentence(option: string, meaning: string, value: string | undefined): string {
  const trimmed = value?.trim() ?? '';
  if (!/^\P{C}{1,500}$/u.test(trimmed)) throw new StartError(`--${option} says ${meaning}, in one line.`);
  return trimmed;
}

/** A payment's id, or its first six digits or more; null for any other text. */
export const readIdPrefix = (text = ''): string | null => (/^[0-9a-f]{6,64}$/.test(text) ? text : null);

/** Names payments in a question. */
export const thesePayments = (count: number) => (count === 1 ? 'this payment' : `these ${count} payments`);

/** Errors: StartError if words follow that the command does not take. */
export function expectNone(command: string, words: readonly string[]): void {
  if (words.length > 0) throw new StartError(`${command} does not take "${words.join(' ')}".`);
}

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time in milliseconds since 1970: how long ago (`90s`, `15m`, `2h`, `3d`), or ISO 8601, which is UTC if it names no
 * zone, as times in the log are.
 * Errors: StartError.
 */
export function readTime(option: string, text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (units[unit] ?? 0);
  const time = parseDateTime(text);
  if (time === null)
    throw new StartError(
      `--${option} is a time such as 2h, 3d, 2026-01-15 or 2026-01-15T10:32Z, not ${text}.`,
    );
  return time.getTime();
}
