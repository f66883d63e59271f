import type { PaymentStore } from '../../payments/store.ts';
import type { OpenStoreOptions } from '../../payments/stores/open-store.ts';
import type { ShowProgress } from '../progress.ts';

/** What an operator's command works with. */
export interface OperatorContext {
  /** The store of the bankql that runs, or ran. */
  readonly state: Omit<OpenStoreOptions, 'create'> & { readonly url: string };
  readonly now: number;
  /** Opens the store for the work, and closes it. Errors: CommandError where it cannot be opened. */
  withStore<T>(work: (store: PaymentStore) => Promise<T>): Promise<T>;
  readonly write: (text: string) => void;
  /** What is no result: on standard error, so that a pipe gets the results alone. */
  readonly note: (text: string) => void;
  readonly progress: ShowProgress;
  /** Asks whoever sits at the terminal; null where nobody does. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** Its arguments are read before the store is opened. Resolves when all is printed. */
export type OperatorTask = (context: OperatorContext) => Promise<void>;

export interface OperatorSubcommand {
  /** What `--help` prints. */
  readonly help: string;
  /** Errors: CommandError for arguments that cannot be used. */
  read(args: string[], now: number): OperatorTask;
}

/** What the operator did not get, and why. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
