import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { messageOf, StartError } from '../errors.ts';

export interface CliCommand {
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Text of `bankql <name> --help`; null if the command has commands of its own, and answers `--help` itself. */
  readonly help: string | null;
  /** Whether it runs until a signal ends it. */
  readonly isService?: true;
  /** The process's exit code if the command cannot do its work (default: 1). */
  readonly failureCode?: number;
  /**
   * Loads the command's own modules. Shape: a service that runs until a signal ends it, or, after the work is done, the exit
   * code of the process. Errors: StartError.
   */
  run(context: CliContext): Promise<Service | number>;
}

/** The parts of the process that a command receives. */
export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The files of the variables that came from files: see resolveEnvironment. */
  readonly sources: ReadonlyMap<string, string>;
  /** The words after the command's name. */
  readonly args: readonly string[];
  /** The name of this process for others: its host and process id. */
  readonly replica: string;
  readonly write: (text: string) => void;
  /** Whether people read the output. */
  readonly isTerminal: boolean;
  /** For text that is not a result, because a pipe should receive only results. */
  readonly writeError: (text: string) => void;
  /** Registers a function for the end of the process. It runs before earlier ones, and must be synchronous. */
  readonly onExit: (run: () => void) => void;
  /** Asks the person at the terminal; null if there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null;
}

/** A command that runs until a signal ends it. */
export interface Service {
  /** SIGHUP: reloads documents, keys and certificates. Never rejects. */
  reload(): Promise<void>;
  /** SIGUSR2: replaces the processes that serve by new ones, or leaves a warning if there is only one. Never rejects. */
  replaceWorkers?(): Promise<void>;
  /** SIGTERM: lets requests and payments in progress end. Shape: the exit code; 1 if an outcome of a payment is lost. */
  stop(): Promise<0 | 1>;
  /** Settles if it ends without a signal; undefined if it never does. Errors: StartError. */
  readonly ended?: Promise<void>;
}

/** The words after a command's name, by its options. Errors: StartError for an option or a word that it does not have. */
export function readWords<O extends ParseArgsOptionsConfig>(
  command: string,
  args: readonly string[],
  options: O,
  allowPositionals = false,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals });
  } catch (cause) {
    throw new StartError(`${messageOf(cause).replace(/\.$/, '')}. See bankql ${command} --help.`, { cause });
  }
}

/** Takes the steps one after the other, also after a failed one. Errors: an AggregateError with all failures, at the end. */
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
