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

/** What a 101 (Switching Protocols) is shown as: a status that has no meaning. */
export const shownSwitchingProtocols = 109;

/**
 * Lets undici pass over a 100 (Continue) response, and a 101 (Switching Protocols) that names no protocol.
 *
 * RFC 9110, 15.2: a client has to parse interim (1xx) responses before the final one, and may ignore those that it did
 * not ask for. undici does so with 102 and 103, but ends the connection at a 100 and at a 101. So this reads the bytes
 * before undici does, and makes the status of each 100 a 103, and that of each 101 a 109. After a 101 with an Upgrade
 * header (15.2.2), bytes of another protocol follow: who is shown a 109 has to look. Nothing is held back, added or
 * removed: how long a head may be and whether it is well-formed is judged by undici's strict parser alone, which sees
 * every byte in its place.
 *
 * It looks at interim heads and at the first ten bytes of the final one, and at nothing after them.
 */
export class InterimResponses {
  /** Where the next byte stands in a status line; `statusEnd` behind it, in an interim head. */
  #position = 0;
  /** How much of the empty line that ends a head was seen. */
  #matched = 0;
  /** Where the status so far is that of a 100 or a 101. */
  #isExpected = true;
  #isFinal = true;

  /** A request is about to be written: what comes next is a status line. */
  expect(): void {
    this.#isFinal = false;
    this.#startHead();
  }

  /** Reads what arrived, in the order of arrival, and changes it in its place. */
  rewrite(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length && !this.#isFinal; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#position === statusEnd) this.#readHead(byte);
      else chunk[at] = this.#readStatusLine(byte);
    }
  }

  /** The byte that undici is shown in this one's place. */
  #readStatusLine(byte: number): number {
    const position = this.#position;
    // Empty lines before a status line are skipped, as undici's parser does.
    if (position === 0 && (byte === carriageReturn || byte === lineFeed)) return byte;
    this.#position++;
    if (this.#position === statusEnd) return this.#isExpected ? shownDigit(byte) : byte;
    const isExpected = byte === statusLine[position];
    // What is no status line, and what has no status 1xx, is for undici to judge.
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
