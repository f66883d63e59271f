import { pino } from 'pino';

/**
 * Where lines of a log go. A reader that is gone, or a full disk, must not end the process; lines that could not be
 * written are kept, and come first once they can be.
 */
export function openLogOutput(dest: number, sync: boolean) {
  const stream = pino.destination({ dest, sync });
  let failure: Error | null = null;
  stream.on('error', (error: Error) => {
    failure = error;
  });
  stream.on('write', () => {
    failure = null;
  });
  return {
    stream,
    /** Errors: why the last line was not written, where it was not. Known at once where `sync` is true. */
    check(): void {
      if (failure !== null) throw failure;
    },
  };
}
