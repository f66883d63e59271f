const carriageReturn = 13;
const lineFeed = 10;
/** How the status line of a 100 and a 101 begins. */
const statusLine = Buffer.from('HTTP/1.1 10');
const headEnd = Buffer.from('\r\n\r\n');
/** Where the status begins in a status line, and where it ends. */
const statusAt = 9;
const statusEnd = 12;
const digit0 = 0x30;
const digit1 = 0x31;
const digit3 = 0x33;
const digit9 = 0x39;

/** The status as which undici is shown a 101 (Switching Protocols): one without a meaning. */
export const shownSwitchingProtocols = 109;

/**
 * Makes undici ignore a 100 (Continue) response, and a 101 (Switching Protocols) that names no protocol.
 *
 * RFC 9110, 15.2: a client has to parse interim (1xx) responses before the final one, and may ignore those that it did
 * not ask for. undici does so with 102 and 103, but ends the connection at a 100 and at a 101. So this rewrites the
 * bytes before undici parses them: the status of each 100 becomes 103, and that of each 101 becomes 109. After a 101
 * with an Upgrade header (15.2.2), bytes of another protocol follow: the handler of a 109 has to check for it. No byte
 * is delayed, added or removed: whether a head is too long or malformed is left to undici's strict parser.
 *
 * It inspects interim heads and the first ten bytes of the final one, and nothing after that.
 */
export class InterimResponses {
  /** The next byte's position in a status line; `statusEnd` after it, within an interim head. */
  #position = 0;
  /** How many bytes of the empty line that ends a head have been seen. */
  #matched = 0;
  /** Whether the status line so far is that of a 100 or a 101. */
  #isExpected = true;
  #isFinal = true;

  /** A request is about to be written, so a status line comes next. */
  expect(): void {
    this.#isFinal = false;
    this.#startHead();
  }

  /** Inspects the bytes in the order of arrival, and rewrites them in place. */
  rewrite(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length && !this.#isFinal; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#position === statusEnd) this.#readHead(byte);
      else chunk[at] = this.#readStatusLine(byte);
    }
  }

  /** The byte that undici gets instead of this one. */
  #readStatusLine(byte: number): number {
    const position = this.#position;
    // Empty lines before a status line are skipped, as undici's parser does.
    if (position === 0 && (byte === carriageReturn || byte === lineFeed)) return byte;
    this.#position++;
    if (this.#position === statusEnd) return this.#isExpected ? shownDigit(byte) : byte;
    const isExpected = byte === statusLine[position];
    // Anything other than a status line with status 1xx is left to undici.
    if (!isExpected && position <= statusAt) this.#isFinal = true;
    this.#isExpected = (position <= statusAt || this.#isExpected) && isExpected;
    return byte;
  }

  #readHead(byte: number): void {
    if (byte === headEnd[this.#matched]) this.#matched++;
    else this.#matched = byte === carriageReturn ? 1 : 0;
    if (this.#matched === headEnd.length) this.#startHead();
  }

  #startHead(): void {
    this.#position = 0;
    this.#matched = 0;
  }
}

function shownDigit(last: number): number {
  if (last === digit0) return digit3;
  return last === digit1 ? digit9 : last;
}
