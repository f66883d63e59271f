const carriageReturn = 13;
const lineFeed = 10;
const statusLine = Buffer.from('HTTP/1.1 100');
const headEnd = Buffer.from('\r\n\r\n');
/** Where the status begins in a status line, and where it ends. */
const statusAt = 9;
const statusEnd = 12;

/**
 * Lets undici pass over a 100 (Continue) response.
 *
 * RFC 9110, 15.2: a client has to parse interim (1xx) responses before the final one, and may ignore those that it did
 * not ask for. undici does so with 102 and 103, but ends the connection at a 100. So this reads the bytes before undici
 * does, and makes the status of each 100 a 103. Nothing is held back, added or removed: how long a head may be and
 * whether it is well-formed is judged by undici's strict parser alone, which sees every byte in its place.
 *
 * It looks at interim heads and at the first ten bytes of the final one, and at nothing after them.
 */
export class InterimResponses {
  /** Where the next byte stands in a status line; `statusEnd` behind it, in an interim head. */
  #position = 0;
  /** How much of the empty line that ends a head was seen. */
  #matched = 0;
  /** Where the status so far is that of a 100. */
  #isContinue = true;
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
      else if (this.#readStatusLine(byte)) chunk[at] = 0x33;
    }
  }

  /** Whether this is the last digit of a 100. */
  #readStatusLine(byte: number): boolean {
    const position = this.#position;
    // Empty lines before a status line are skipped, as undici's parser does.
    if (position === 0 && (byte === carriageReturn || byte === lineFeed)) return false;
    const isExpected = byte === statusLine[position];
    // What is no status line, and what has no status 1xx, is for undici to judge.
    if (!isExpected && position <= statusAt) this.#isFinal = true;
    this.#isContinue = (position <= statusAt || this.#isContinue) && isExpected;
    this.#position++;
    return this.#position === statusEnd && this.#isContinue;
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
