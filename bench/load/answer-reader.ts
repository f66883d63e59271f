/**
 * Reads the answers of one kept connection, one at a time, with as little work as that takes: the status, the length or
 * the chunks, the body.
 */
export class AnswerReader {
  #received: Buffer[] = [];
  #size = 0;
  #bodyStart = 0;
  /** The length of the whole answer; null while its head is not whole, and for an answer in chunks. */
  #length: number | null = null;

  /**
   * Takes what came; the body once it is whole.
   * Errors: an answer that is no 200, or whose end cannot be told.
   */
  take(bytes: Buffer): Buffer | null {
    this.#received.push(bytes);
    this.#size += bytes.length;
    if (this.#bodyStart === 0 && !this.#readHead()) return null;
    if (this.#length !== null && this.#size < this.#length) return null;
    const answer = this.#joined();
    const body =
      this.#length === null ? unchunked(answer, this.#bodyStart) : answer.subarray(this.#bodyStart);
    if (body === null) return null;
    this.#received = [];
    this.#size = 0;
    this.#bodyStart = 0;
    this.#length = null;
    return body;
  }

  #joined(): Buffer {
    const [first] = this.#received;
    if (first !== undefined && this.#received.length === 1) return first;
    const joined = Buffer.concat(this.#received, this.#size);
    this.#received = [joined];
    return joined;
  }

  #readHead(): boolean {
    const answer = this.#joined();
    const end = answer.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const head = answer.toString('latin1', 0, end);
    this.#bodyStart = end + 4;
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`answered ${answer.toString('utf8', 0, 2000)}`);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) this.#length = this.#bodyStart + Number(length);
    else if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`no length: ${head}`);
    return true;
  }
}

/** The body of an answer in chunks; null while it is not whole. */
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
