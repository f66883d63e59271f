import { pino } from 'pino';

interface LogOutputOptions {
  /** How much text of lines that could not be written is kept, in bytes. */
  readonly maxLength: number;
  /** Is told of each line that is not kept. It must not throw. */
  readonly onDropped?: () => void;
  /** Whether other processes write there too. */
  readonly isShared?: boolean;
}

/** What a pipe takes from one process without lines of another in between, in bytes (POSIX: at least 512; Linux: 4096). */
const maxAtomicWrite = 4096;

/**
 * Where lines of a log go. A reader that is gone, or a full disk, must not end the process; lines that could not be
 * written are kept up to a length, and come first once they can be. Beyond that the newest are dropped: the oldest tell
 * what was sent.
 */
export function openLogOutput(
  dest: number,
  sync: boolean,
  { maxLength, onDropped = () => {}, isShared = false }: LogOutputOptions,
) {
  const maxWrite = isShared ? { maxWrite: maxAtomicWrite } : {};
  const stream = pino.destination({ dest, sync, maxLength, ...maxWrite });
  let failure: Error | null = null;
  stream.on('error', (error: Error) => {
    failure = error;
  });
  stream.on('write', () => {
    failure = null;
  });
  stream.on('drop', () => {
    failure ??= new Error('Too many lines of the log wait to be written.');
    onDropped();
  });
  return {
    stream,
    /** Errors: why the last line was not written, where it was not. Known at once where `sync` is true. */
    check(): void {
      if (failure !== null) throw failure;
    },
  };
}
