/** A request as it goes over the wire. */
export interface HttpRequest {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  /** Names and values in turn, as undici takes them without a copy; nobody may change them. */
  readonly headers: string[];
  readonly body: string | null;
}

/** An answer as it came over the wire. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** How long the bank took: from when the call had its connection to the last byte, in milliseconds. */
  readonly milliseconds: number;
}

const markLength = 3;

/** Whether a body begins with a byte order mark, which JSON allows nobody to send and everybody to skip. */
export const startsWithMark = ({ body }: Pick<HttpResponse, 'body'>): boolean =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;

/** A body's text, without a byte order mark. */
export const textOf = (response: Pick<HttpResponse, 'body'>): string =>
  response.body.toString('utf8', startsWithMark(response) ? markLength : 0);

/** Answers with which a proxy in front of the bank says that the bank is away. */
const gatewayErrorStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

export const isGatewayError = ({ status }: HttpResponse): boolean => gatewayErrorStatuses.has(status);

/**
 * No whole answer came.
 * - `unavailable`: no connection, or the connection broke.
 * - `timeout`: the deadline passed.
 * - `cancelled`: the caller's signal was raised.
 * - `refused`: bankql would not read on a success: it is too large, or encoded although it asked for none.
 * - `overloaded`: no connection became free in time.
 * - `paused`: the operation's breaker is open, see circuit-breaker.ts.
 * `sent` is false only where it is proved that nothing of the request was written to a socket.
 */
export class TransportFailure extends Error {
  override readonly name = 'TransportFailure';
  readonly reason: 'unavailable' | 'timeout' | 'cancelled' | 'refused' | 'overloaded' | 'paused';
  readonly sent: boolean;

  constructor(reason: TransportFailure['reason'], sent: boolean, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.sent = sent;
  }
}

/** What came of a request: a failure is a value here. */
export type HttpResult = HttpResponse | TransportFailure;
