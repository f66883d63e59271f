import { isUtf8 } from 'node:buffer';
import { ExpectedError } from '../errors.ts';

/** A request as it is sent. */
export interface HttpRequest {
  readonly origin: string;
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  /** Alternating names and values, which undici takes without a copy; they must not be modified. */
  readonly headers: string[];
  readonly body: string | null;
}

/** An answer as it was received. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The time from the call's start, after any wait at the gate, to the last byte, in milliseconds. */
  readonly milliseconds: number;
}

const emptyBody = Buffer.alloc(0);

/** An answer whose body is arriving. It is complete after `end`. */
export class IncomingResponse implements HttpResponse {
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  /** The body. Before `end`, only its first `#size` bytes have arrived. */
  body: Buffer = emptyBody;
  milliseconds = 0;
  #size = 0;

  constructor(status: number, headers: HttpResponse['headers']) {
    this.status = status;
    this.headers = headers;
  }

  /**
   * Adds a chunk. A body of one chunk is not copied. If there are more, all are copied together, because many tiny chunks
   * would take too much memory.
   */
  add(chunk: Buffer): void {
    const size = this.#size + chunk.length;
    if (this.#size === 0) this.body = chunk;
    else {
      if (size > this.body.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.body.length));
        this.body.copy(grown, 0, 0, this.#size);
        this.body = grown;
      }
      chunk.copy(this.body, this.#size);
    }
    this.#size = size;
  }

  /** Called when the body is complete. `milliseconds`: the time that the bank took. */
  end(milliseconds: number): HttpResponse {
    if (this.body.length > this.#size) this.body = this.body.subarray(0, this.#size);
    this.milliseconds = milliseconds;
    return this;
  }
}

/** Whether a body begins with a byte order mark, which JSON forbids senders to add and allows parsers to ignore. */
export const startsWithMark = ({ body }: Pick<HttpResponse, 'body'>): boolean =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;

const jsonType = /^(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i;

export const isJsonType = (type: string): boolean => jsonType.test(type);

/**
 * The charset that an answer declares, in lower case; null if it declares none, or UTF-8. Some servers declare it in
 * Content-Encoding.
 */
export function otherCharsetOf({ headers }: Pick<HttpResponse, 'headers'>): string | null {
  const [, ofType = ''] =
    /;\s*charset\s*=\s*"?([\w.:+-]{1,40})/i.exec(String(headers['content-type'] ?? '')) ?? [];
  const ofEncoding = String(headers['content-encoding'] ?? '');
  const saysNothing = (name: string) => /^(utf-?8|identity)?$/i.test(name);
  if (!saysNothing(ofType)) return ofType.toLowerCase();
  return saysNothing(ofEncoding) || decoderOf(ofEncoding) === null ? null : ofEncoding.toLowerCase();
}

/** A decoder for a charset, which throws at bytes that are not in it; null if the charset is unknown. */
export function decoderOf(charset: string): TextDecoder | null {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return null;
  }
}

/** The encoding that a Content-Encoding names, or null. Some servers write a charset there, which is no encoding. */
export function encodingOf(contentEncoding: string | string[]): string | null {
  const encoding = String(contentEncoding);
  return /^(identity)?$/i.test(encoding) || decoderOf(encoding) !== null ? null : encoding;
}

/**
 * A body of this charset, converted to UTF-8; unchanged if the charset is unknown. Errors: TypeError if the body is not in the
 * charset.
 */
export function inUtf8(body: Buffer, charset: string): Buffer {
  const decoder = decoderOf(charset);
  return decoder === null ? body : Buffer.from(decoder.decode(body));
}

type Headers = HttpResponse['headers'];

/**
 * Whether an answer's headers say where its body ends: by a length or by chunks. Otherwise the end of the connection ends the
 * body, and a truncated body looks complete.
 */
export const isSaidToEnd = (headers: Headers): boolean =>
  headers['content-length'] !== undefined ||
  /(?:^|,)\s*chunked\s*$/i.test(String(headers['transfer-encoding'] ?? ''));

/** Whether the headers say that the body is empty. An encoded body does not count: bankql does not read it, so it only looks empty. */
export const isSaidToBeEmpty = (headers: Headers): boolean => {
  const length = headers['content-length'];
  const isEmpty = length === undefined ? isSaidToEnd(headers) : /^0+$/.test(String(length));
  return isEmpty && headers['content-encoding'] === undefined;
};

export const byteOrderMark = '\ufeff';

/** The text of a body in UTF-8, without a byte order mark. */
export function textOf({ body }: Pick<HttpResponse, 'body'>): string {
  const text = body.toString();
  return text.startsWith(byteOrderMark) ? text.slice(1) : text;
}

/**
 * The text of a short body, to be compared as a whole. Null if the body is longer than `maxLength`, is not in UTF-8, or is
 * empty although the headers do not say so: the bank may have said more than the text shows.
 */
export function comparableTextOf(
  response: Pick<HttpResponse, 'headers' | 'body'>,
  maxLength: number,
): string | null {
  const { headers, body } = response;
  if (body.length > maxLength || !isUtf8(body) || otherCharsetOf(response) !== null) return null;
  return body.length > 0 || isSaidToBeEmpty(headers) ? textOf(response).trim() : null;
}

/**
 * Statuses that a proxy in front of the bank sends while the bank is unavailable or slow. 408 and 425 ask for the same request again;
 * 520 to 527 are Cloudflare's (https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/).
 */
export const gatewayErrors: ReadonlySet<number> = new Set([
  ...[408, 425, 502, 503, 504],
  ...[520, 521, 522, 523, 524, 525, 526, 527],
]);

/** A request that the server has taken, and not carried out yet. */
export const accepted = 202;
/** A success whose body is only a part of the answer. */
export const partialContent = 206;

/**
 * A call has no complete answer. The reasons:
 * - `unavailable`: no connection, or the connection broke.
 * - `timeout`: the deadline passed.
 * - `cancelled`: the caller has left.
 * - `refused`: bankql did not read a successful answer completely: the answer or its headers are too large, or the answer is
 *   encoded although no encoding was requested.
 * - `overloaded`: no connection became free in time.
 * - `no room`: the answer exceeds the operation's memory budget, or bankql has no memory for it.
 * - `paused`: the operation's breaker is open, see breaker.ts.
 *
 * `sent` is false only if it is certain that nothing of the request was written to a socket.
 */
export class TransportFailure extends ExpectedError {
  override readonly name = 'TransportFailure';
  readonly reason: 'unavailable' | 'timeout' | 'cancelled' | 'refused' | 'overloaded' | 'no room' | 'paused';
  readonly sent: boolean;

  constructor(reason: TransportFailure['reason'], sent: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.sent = sent;
  }
}

/** The outcome of a request. A failure is returned, not thrown. */
export type HttpResult = HttpResponse | TransportFailure;
