import { fstatSync } from 'node:fs';
import { pino } from 'pino';

interface LogOutputOptions {
  /** The maximum length of unwritten lines that are kept, in bytes. */
  readonly maxLength: number;
  /** Called for each line that is dropped. Must not throw. */
  readonly onDropped?: () => void;
}

/**
 * A pipe takes a text of up to this many bytes as a whole or not at all (POSIX: at least 512; Linux: 4096). It may take only a
 * part of a longer text. Lines of another process, or of this process's other output, could then be written before the rest.
 */
const maxAtomicWrite = 4096;

/** The maximum length of one write to a socket or a file, in bytes. */
const maxWrite = 16_384;

/** The longest time for which a line may wait for others to be written with it, in milliseconds. */
const maxWaitMs = 100;

/** The longest time to wait for a busy reader, in milliseconds: with each synchronous line, and at the end of the process. */
const maxReaderWaitMs = 1000;

/** The delay before a failed write is retried, in milliseconds. */
const retryMs = 1000;

/**
 * The output for lines of a log: pino's destination. A missing or stopped reader, or a full disk, neither ends nor blocks the
 * process. Lines that could not be written are kept, up to `maxLength`, and are written first when writing works again. Beyond
 * this length, the newest lines are dropped, because the oldest show what was sent.
 *
 * If `sync` is true, a line is written before the call that writes it returns. Otherwise several lines are written together, a
 * moment later: a process that is killed loses the last lines, and a process that ends in any other way writes them.
 */
export function openLogOutput(
  dest: number,
  sync: boolean,
  { maxLength, onDropped = () => {} }: LogOutputOptions,
) {
  const longest = fstatSync(dest).isFIFO() ? maxAtomicWrite : maxWrite;
  let failure: Error | null = null;
  let isOver = false;
  /** The time until which to wait for the reader; null while the reader takes lines. */
  let waitsUntil: number | null = null;
  // By default, pino tries until the line is written, so a reader that has stopped would stop this process.
  const retryEAGAIN = () => {
    if (!sync && !isOver) return false;
    waitsUntil ??= performance.now() + maxReaderWaitMs;
    return performance.now() < waitsUntil;
  };
  const stream = pino.destination({
    ...{ dest, sync: true, maxLength, maxWrite: longest, retryEAGAIN },
    ...(!sync && { minLength: longest - 1, periodicFlush: maxWaitMs }),
  });
  let willRetry = false;
  stream.on('error', (error: Error) => {
    failure = error;
    if (willRetry) return;
    willRetry = true;
    setTimeout(() => {
      willRetry = false;
      if (!isOver) stream.write('');
    }, retryMs).unref();
  });
  stream.on('write', (bytes: number) => {
    // The stream also reports attempts that wrote nothing, with 0 bytes.
    if (bytes > 0) [failure, waitsUntil] = [null, null];
  });
  stream.on('drop', (lines: string) => {
    for (const _ of lines.matchAll(/\n/g)) onDropped();
  });
  return {
    stream,
    /** Errors: the reason, if the last line was not written. With `sync`, this is known at once. */
    check(): void {
      if (failure !== null) throw failure;
    },
    /** Called when the process ends: writes the waiting lines, unless nothing can be written. Never throws. */
    end(): void {
      isOver = true;
      // `flushSync` is not used, because it would try for ever to write to a full disk.
      Object.assign(stream, { minLength: 0 }).write('');
    },
  };
}
