import type { ShowProgress } from './progress.ts';

/** What a command is given of the process. */
export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where values come from that a file gave: see resolveEnvironment. */
  readonly sources: ReadonlyMap<string, string>;
  /** The words behind the command's name. */
  readonly args: readonly string[];
  /** This process as others are told of it: its host and process id. */
  readonly replica: string;
  readonly write: (text: string) => void;
  /** Whether people read what is written. */
  readonly isTerminal: boolean;
  readonly writeError: (text: string) => void;
  readonly progress: ShowProgress;
  /** Has this run when the process ends, before what others do then. It can no longer wait for anything. */
  readonly onExit: (run: () => void) => void;
  /** Asks whoever sits at the terminal; null where nobody does. */
  readonly ask: ((question: string) => Promise<string>) | null;
}
