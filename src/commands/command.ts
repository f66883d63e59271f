import { StartError } from '../errors.ts';
import type { openStore } from '../payments/store/open-store.ts';

/** An option of a command, which the parser reads and the help shows. */
export interface CliOption {
  /** The kind of value, such as `FILE`; a switch has none. */
  readonly value?: string;
  readonly multiple?: true;
  readonly meaning: string;
}

export type CliOptions = Readonly<Record<string, CliOption>>;

type ValueOf<O extends CliOption> = O extends { readonly value: string }
  ? O extends { readonly multiple: true }
    ? readonly string[]
    : string
  : true;

/** The options and words of a command line. */
export interface Given<O extends CliOptions = CliOptions> {
  readonly values: { readonly [Name in keyof O]?: ValueOf<O[Name]> | undefined };
  /** The words that are neither options nor their values. */
  readonly words: readonly string[];
}

export interface CliCommand<O extends CliOptions = CliOptions> {
  /** The work of the command in one line, for the list of commands. */
  readonly summary: string;
  /** The words of the command, for its usage; undefined if it takes only options. */
  readonly words?: string;
  /** The required options, for the usage. */
  readonly needs?: string;
  readonly about: string;
  readonly options: O;
  readonly examples: readonly string[];
  /** Whether the command runs until a signal ends it. */
  readonly isService?: true;
  /** The process's exit code if the command cannot do its work (default: 1). It is 2 for a UsageError. */
  readonly failureCode?: number;
  /**
   * Loads the command's own modules.
   * Shape: a service that runs until a signal ends it, or, after the work is done, the exit code of the process.
   * Errors: StartError; UsageError for invalid words.
   */
  run(context: CliContext, given: Given<O>): Promise<Service | number>;
}

/** What a command receives of the process. */
export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The file of each variable that came from a file: see resolveEnvironment. */
  readonly sources: ReadonlyMap<string, string>;
  /** The name of this process in records: its host and process id. */
  readonly replica: string;
  readonly write: (text: string) => void;
  /** Whether the output is a terminal. */
  readonly isTerminal: boolean;
  /** Writes text that is not a result. Results alone go to standard output, for a pipe. */
  readonly writeError: (text: string) => void;
  /** Registers a synchronous function for the end of the process. Functions run in the reverse order of their registration. */
  readonly onExit: (run: () => void) => void;
  /** Asks the person at the terminal; null if there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** For tests: a fixed time instead of the clock's, and another way to open the payment store. */
  readonly now?: number | undefined;
  readonly openStore?: typeof openStore | undefined;
}

/** A command that runs until a signal ends it. */
export interface Service {
  /** SIGHUP: reloads documents, keys and certificates. Never rejects. */
  reload(): Promise<void>;
  /** SIGUSR2: replaces the processes that serve, or logs a warning if there is only one. Never rejects. */
  replaceWorkers?(): Promise<void>;
  /** SIGTERM: lets requests and payments in progress end. Shape: the exit code; 1 if an outcome of a payment is lost. */
  stop(): Promise<0 | 1>;
  /**
   * Settles when the service ends without a signal; undefined for a service that only a signal ends. Errors:
   * StartError.
   */
  readonly ended?: Promise<void>;
}

/** The default of `--limit`: the maximum number of payments that are listed, and that are settled at once. */
export const usualLimit = 100;

/** The command line is invalid. The process ends with the exit code 2. */
export class UsageError extends StartError {
  override readonly name = 'UsageError';
}

/**
 * Runs all steps one after the other, even if one fails. Errors: AggregateError with all failures, after the
 * last step.
 */
export async function takeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Not everything could be ended.');
}
