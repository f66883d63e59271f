import { Pool } from 'undici';

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** An answer as it came over the wire. */
export interface WireReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Answers with which a proxy in front of the bank says that the bank is away. */
const awayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

export const saysAway = ({ status }: WireReply): boolean => awayStatuses.has(status);

/**
 * No whole answer came.
 * - `unavailable`: no connection, or the connection broke.
 * - `timeout`: the deadline passed.
 * - `cancelled`: the caller's signal was raised.
 * - `refused`: bankql would not read on a success: it is too large, or encoded although it asked for none.
 * - `overloaded`: no connection became free in time.
 * - `paused`: the operation's breaker is open, see breaker.ts.
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

export interface TransportOptions {
  readonly origin: string;
  /** Connections that are open at the same time, for reads and for writes each. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
}

export interface ExchangeOptions {
  /** One deadline over the wait for a connection, connect, headers, and the whole body. */
  readonly timeoutMs: number;
  /** Gives the request up where it is raised. */
  readonly signal?: AbortSignal | undefined;
  /** A connection of its own, closed after the answer: see createTransport. */
  readonly ownConnection: boolean;
}

export interface Transport {
  /** Sends one request, once. Errors: TransportFailure. */
  exchange(request: WireRequest, options: ExchangeOptions): Promise<WireReply>;
  close(): Promise<void>;
}

/**
 * HTTP/1.1 to one origin. It follows no redirect, tries nothing again and decodes no encoding.
 *
 * undici's own deadlines are off: its header deadline ticks in seconds and never fires under 1xx answers, and its
 * body deadline never fires while bytes drip. HTTP/2 is off since a request on a refused stream would be sent
 * again. Writes take a connection of their own: on a kept one that the bank has just closed, nobody could say
 * whether the bank saw the request. `Pool.dispatch` rather than `Pool.request`, because its handler learns when
 * the request starts to be written: until then, nothing was sent.
 */
export function createTransport(options: TransportOptions): Transport {
  const common = {
    allowH2: false,
    connections: options.connections,
    connect: { timeout: options.connectTimeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const kept = new Pool(options.origin, { ...common, pipelining: 1 });
  const own = new Pool(options.origin, { ...common, pipelining: 0 });
  return {
    exchange: (request, exchangeOptions) =>
      exchange(exchangeOptions.ownConnection ? own : kept, request, exchangeOptions, options.maxBodyBytes),
    async close() {
      await Promise.all([kept.destroy(), own.destroy()]);
    },
  };
}

function exchange(
  pool: Pool,
  request: WireRequest,
  { timeoutMs, signal }: ExchangeOptions,
  maxBodyBytes: number,
): Promise<WireReply> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let over = false;
    let abort: ((reason: Error) => void) | null = null;
    let status = 0;
    let headers: WireReply['headers'] = {};
    const chunks: Buffer[] = [];
    let size = 0;

    const end = () => {
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    };
    const fail = (reason: TransportFailure['reason'], message: string, cause?: unknown) => {
      if (over) return;
      end();
      const failure = new TransportFailure(reason, sent, message, cause);
      reject(failure);
      // Frees the connection: an answer that nobody reads would keep it.
      abort?.(failure);
    };
    /** Reads no further: of an error, the status says enough. */
    const cut = (message: string) => {
      if (over) return;
      if (status >= 200 && status < 300) return fail('refused', message);
      end();
      resolve({ status, headers, body: Buffer.concat(chunks) });
      abort?.(new Error(message));
    };
    const cancel = () => fail('cancelled', 'the caller left');
    const timer = setTimeout(() => fail('timeout', `no whole answer within ${timeoutMs} ms`), timeoutMs);
    if (timeoutMs <= 0) return fail('timeout', 'no time was left to send it');
    if (signal?.aborted) return cancel();
    signal?.addEventListener('abort', cancel);

    pool.dispatch(
      { method: request.method, path: request.path, headers: request.headers, body: request.body },
      {
        onRequestStart(controller) {
          // A request whose time ran out while it waited for a connection must not be sent any more.
          if (over) return controller.abort(new Error('given up before it was sent'));
          sent = true;
          abort = (reason) => controller.abort(reason);
        },
        onResponseStart(_controller, statusCode, responseHeaders) {
          if (statusCode < 200) return;
          status = statusCode;
          headers = responseHeaders;
          const encoding = responseHeaders['content-encoding'];
          if (encoding !== undefined && encoding !== 'identity')
            cut('the answer is encoded although none was asked for');
        },
        onResponseData(_controller, chunk) {
          size += chunk.length;
          if (size > maxBodyBytes) cut(`the answer is longer than ${maxBodyBytes} bytes`);
          else if (!over) chunks.push(chunk);
        },
        onResponseEnd() {
          if (over) return;
          end();
          resolve({ status, headers, body: Buffer.concat(chunks, size) });
        },
        onResponseError(_controller, error) {
          fail('unavailable', sent ? 'the connection broke' : 'no connection', error);
        },
      },
    );
  });
}
