import type { CliContext } from './cli-context.ts';
import type { Service } from './service.ts';

interface CommandText {
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What `bankql <name> --help` prints; null where the command answers `--help` itself. */
  readonly help: string | null;
  /** The process's exit code where it cannot do its work; 1 where this is left out. */
  readonly failureCode?: number;
}

/** A command that runs until a signal ends it. */
export interface ServiceCommand extends CommandText {
  readonly kind: 'service';
  /** Loads the command's own modules. Errors: StartError. */
  start(context: CliContext): Promise<Service>;
  /** Whether it takes further options, which it reads from the context. */
  readonly takesOptions?: boolean;
  /** What it does instead of serving, by the option that asks for it. */
  readonly tasks?: Readonly<Record<string, TaskCommand>>;
}

/** A command that does its work and ends. */
export interface TaskCommand extends CommandText {
  readonly kind: 'task';
  /** Loads the command's own modules. Shape: the process's exit code. Errors: StartError. */
  run(context: CliContext): Promise<number>;
}

export type CliCommand = ServiceCommand | TaskCommand;
