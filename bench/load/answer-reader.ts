/**
 * Reads the answers of one kept connection, one at a time, with minimal work: the status, the length or the chunks, and the body.
 */
export class AnswerReader {
  #received: Buffer[] = [];
  #size = 0;
  /** The length of the whole answer, if it is known. */
  #length = 0;

  /**
   * Takes the next bytes. Returns the body when it is complete.
   * Errors: an answer that is not a 200, or whose end cannot be determined.
   */
  take(bytes: Buffer): Buffer | null {
    this.#received.push(bytes);
    this.#size += bytes.length;
    if (this.#size < this.#length) return null;
    const answer = this.#received.length === 1 ? bytes : Buffer.concat(this.#received, this.#size);
    const body = this.#bodyOf(answer);
    this.#received = body === null ? [answer] : [];
    if (body !== null) [this.#size, this.#length] = [0, 0];
    return body;
  }

  #bodyOf(answer: Buffer): Buffer | null {
    const end = answer.indexOf('\r\n\r\n');
    if (end === -1) return null;
    const head = answer.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`answered ${answer.toString('utf8', 0, 2000)}`);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined && !/\r\ntransfer-encoding: *chunked/i.test(head))
      throw new Error(`no length: ${head}`);
    if (length === undefined) return unchunked(answer, end + 4);
    this.#length = end + 4 + Number(length);
    return answer.length < this.#length ? null : answer.subarray(end + 4);
  }
}

/** The body of an answer in chunks; null while it is incomplete. */
function unchunked(answer: Buffer, start: number): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = answer.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(answer.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (answer.length < next) return null;
    if (size === 0) return Buffer.concat(parts);
    parts.push(answer.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}
