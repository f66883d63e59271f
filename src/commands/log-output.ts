import { fstatSync, writeSync } from 'node:fs';
import { type DestinationStream, pino } from 'pino';

interface LogOutputOptions {
  /** How much text of lines that could not be written is kept, in bytes. */
  readonly maxLength: number;
  /** Is told of each line that is not kept. It must not throw. */
  readonly onDropped?: () => void;
}

/**
 * What a pipe takes whole or not at all, in bytes (POSIX: at least 512; Linux: 4096). It may take a part of more, and other
 * lines could come before the rest: another process may write there, and this one has two outputs.
 */
const maxAtomicWrite = 4096;

/** The most that is written at once to a socket or a file, in bytes. */
const maxWrite = 16_384;

/** How long a reader that is busy is waited for, and how long in between at the end of the process, in milliseconds. */
const readerWait = { most: 1000, each: 10 };

/** After how long what could not be written is tried again, in milliseconds. */
const retryMs = 1000;

/**
 * The output for lines of a log. A reader that is gone or reads nothing, or a full disk, must not end the process or stop
 * it; lines that could not be written are kept up to a length, and come first once they can be. Beyond that the newest are
 * dropped: the oldest tell what was sent.
 *
 * If `sync` is true, a line is written before the call that writes it returns. Otherwise several below `warn` are written
 * together, a moment later: a process that is killed loses the last ones, and one that ends in any other way writes them.
 */
export function openLogOutput(
  dest: number,
  sync: boolean,
  { maxLength, onDropped = () => {} }: LogOutputOptions,
) {
  const longest = fstatSync(dest).isFIFO() ? maxAtomicWrite : maxWrite;
  let failure: Error | null = null;
  /** Until when the reader is waited for; null while it reads. */
  let waitsUntil: number | null = null;
  // By default each line would wait until it is written: a reader that has stopped would stop this process.
  const retryEAGAIN = () => {
    waitsUntil ??= performance.now() + readerWait.most;
    return performance.now() < waitsUntil;
  };
  const stream = pino.destination({ dest, sync, maxLength, maxWrite: longest, retryEAGAIN });
  const gathered = sync ? null : new GatheredLines(longest, stream.write.bind(stream));
  let willRetry = false;
  let isOver = false;
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
    // The stream says 0 for an attempt.
    if (bytes > 0) [failure, waitsUntil] = [null, null];
  });
  stream.on('drop', (lines: string) => {
    failure ??= new Error('Too many lines of the log wait to be written.');
    for (const _ of lines.matchAll(/\n/g)) onDropped();
  });
  return {
    stream: gathered ?? stream,
    /** Errors: why the last line was not written, if it was not. Known at once if `sync` is true. */
    check(): void {
      if (failure !== null) throw failure;
    },
    /** The process ends: writes what waits, unless nothing can be written. Never throws. */
    end(): void {
      isOver = true;
      if (gathered === null) {
        stream.write('');
        return;
      }
      try {
        if (failure === null) {
          writeRest(dest, gathered.take());
          stream.flushSync();
        }
      } catch (error) {
        failure = error as Error;
      }
      // pino's own listener of the process's end would try for ever to write what cannot be written.
      if (failure !== null) stream.destroy();
    },
  };
}

/** Writes all of it before it returns. Errors: those of `writeSync`; EAGAIN only if the reader takes nothing for too long. */
function writeRest(dest: number, text: string): void {
  const latest = performance.now() + readerWait.most;
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(dest, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > latest) throw error;
      Atomics.wait(asleep, 0, 0, readerWait.each);
    }
  }
}

/** How long a line may wait for others that are written with it, in milliseconds. */
const maxWaitMs = 100;

/** From this level on a line is news: it does not wait. */
const { warn = 40 } = pino.levels.values;

/**
 * Lines that are written together: to write costs many times what it costs to make a line. pino's stream could gather them
 * too, but measures all of them again with each line.
 */
export class GatheredLines implements DestinationStream {
  readonly #maxBytes: number;
  readonly #writeLines: (lines: string) => void;
  /** Asks pino for the level of each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  #lines = '';
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `writeLines` gets at most so many bytes at once, unless one line alone is longer. */
  constructor(maxBytes: number, writeLines: (lines: string) => void) {
    this.#maxBytes = maxBytes;
    this.#writeLines = writeLines;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#maxBytes) this.#writeLines(this.take());
    this.#lines += line;
    this.#bytes += bytes;
    if (this.lastLevel >= warn) this.#writeLines(this.take());
    else this.#timer ??= setTimeout(() => this.#writeLines(this.take()), maxWaitMs).unref();
  }

  /** Returns the gathered lines; from here on the caller has to write them. */
  take(): string {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const lines = this.#lines;
    [this.#lines, this.#bytes, this.#timer] = ['', 0, null];
    return lines;
  }
}
