import { readConfig } from '../../config/config.ts';
import { StartError, stopStart } from '../../errors.ts';
import { openStore } from '../../payments/store/open-store.ts';
import { type PaymentStore, StoreUnavailable } from '../../payments/store/store.ts';
import { parseDateTime } from '../../schema/date-time.ts';
import { type CliContext, UsageError } from '../command.ts';

/** Common functions of the `payments` commands. None of these commands sends anything to the bank. */

/**
 * The payment store that STATE_URL names.
 * Errors: StartError for a store in memory, which only its own process can read.
 */
export function namedStore({ environment }: Pick<CliContext, 'environment'>) {
  const { state } = readConfig({ ...environment, NODE_ENV: undefined });
  if (state.url === 'memory:')
    throw new StartError(
      'STATE_URL is memory:, or not set: only its own process knows such payments. Set it as for the bankql whose payments these are.',
    );
  return state;
}

/** Access to the payment store. The bankql that serves may use it at the same time. */
export function operatorOf(context: CliContext) {
  const { url, retentionMs, ...options } = namedStore(context);
  // Only the bankql that serves may delete expired records. With this command's retention, which may be
  // shorter, too many records would be deleted.
  const kept = { ...options, retentionMs: Number.MAX_SAFE_INTEGER, create: false };
  const open = context.openStore ?? openStore;
  /** Errors: StartError if the store does not exist, or is unavailable. */
  async function withOpen<T>(readOnly: boolean, work: (store: PaymentStore) => Promise<T>): Promise<T> {
    const store = await open(url, { ...kept, readOnly }).catch(stopStart());
    try {
      return await work(store);
    } catch (error) {
      throw error instanceof StoreUnavailable ? new StartError(error.message) : error;
    } finally {
      await store.close();
    }
  }
  return {
    retentionMs,
    /** Opens the store for the work, and closes it. Errors: StartError if it cannot be opened. */
    withStore: <T>(work: (store: PaymentStore) => Promise<T>) => withOpen(false, work),
    /** Like withStore, but without writing to the store or its folder, because the service may run as another user. */
    lookAtStore: <T>(work: (store: PaymentStore) => Promise<T>) => withOpen(true, work),
  };
}

/**
 * Asks for confirmation before anything is written; `--yes` skips the question.
 * Errors: StartError if the answer is not yes; UsageError if nobody can be asked.
 */
export async function confirm(
  { ask }: Pick<CliContext, 'ask'>,
  question: string,
  isConfirmed: boolean,
): Promise<void> {
  if (isConfirmed) return;
  if (ask === null)
    throw new UsageError(
      `${question} There is no terminal for the question: give --yes. Nothing was written.`,
    );
  const answer = await ask(`${question} [yes/no] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new StartError('Nothing was written.');
}

/** The sentence in an option such as --reason, for the record. Errors: UsageError if it is missing, or not one line. */
export function sentence(option: string, meaning: string, value: string | undefined): string {
  const trimmed = value?.trim() ?? '';
  if (!/^\P{C}{1,500}$/u.test(trimmed)) throw new UsageError(`--${option} says ${meaning}, in one line.`);
  return trimmed;
}

/** A payment's id, or its first six digits or more. Errors: UsageError. */
export function readIdPrefix(text: string): string {
  if (/^[0-9a-f]{6,64}$/i.test(text)) return text.toLowerCase();
  throw new UsageError(
    `An id is hexadecimal (0 to 9, a to f): give it whole, or at least its first six digits, not ${text}.`,
  );
}

/** The noun phrase for a number of payments, for a question to the operator. */
export const thesePayments = (count: number) => (count === 1 ? 'this payment' : `these ${count} payments`);

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time in milliseconds since 1970, given as an age (`90s`, `15m`, `2h`, `3d`) or in ISO 8601. Without a zone, it is UTC, as in
 * the log.
 * Errors: UsageError.
 */
export function readTime(option: string, text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (units[unit] ?? 0);
  const time = parseDateTime(text);
  if (time === null)
    throw new UsageError(
      `--${option} is a time such as 2h, 3d, 2026-01-15 or 2026-01-15T10:32Z, not ${text}.`,
    );
  return time.getTime();
}
