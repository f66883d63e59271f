import { type DestinationStream, pino } from 'pino';

/** How long a line may wait for others that are written with it, in milliseconds. */
const maxWaitMs = 100;

/** From this level on a line is news: it does not wait. */
const { warn = 40 } = pino.levels.values;

/**
 * Lines that are written together: to write costs many times what it costs to make a line. pino's stream could gather them
 * too, but measures all of them anew with each line.
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

  /** What was gathered; from here on it is the caller's to write. */
  take(): string {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const lines = this.#lines;
    [this.#lines, this.#bytes, this.#timer] = ['', 0, null];
    return lines;
  }
}
