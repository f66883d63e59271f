import { maxHeaderSize } from 'node:http';
import type { SecureContext } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { refusals, type ShedReason } from '../load/capacity.ts';
import { secretsOf } from './credentials.ts';
import type { Cancellation, OperationDeadline } from './deadline.ts';
import { redact } from './errors.ts';
import { Gate, type GateEntry, type OperationUsage } from './gate.ts';
import { decoderOf, type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import type { PreparedCall } from './request.ts';
import { createConnector, describeTlsFailure, tlsOptions } from './tls.ts';

/** How the bank is reached if the connection is not a direct one. */
interface NetworkOptions {
  /** The client certificate, and the authorities for the bank's certificate. Node's authorities by default. */
  readonly secureContext?: SecureContext | undefined;
  /** The proxy to the bank; null for none. */
  readonly proxyUrl?: string | null | undefined;
}

export interface TransportOptions {
  readonly origin: string;
  /** Calls that are under way at the same time, for reads and for writes each. */
  readonly connections: number;
  /** How many calls may wait until others end, for reads and for writes each; without a bound if omitted. */
  readonly waitingCalls?: number | undefined;
  /** The deadline for connecting, in milliseconds. */
  readonly connectTimeoutMs?: number | undefined;
  /** How often kept connections are replaced, in milliseconds: the bank's name may have another address by then. */
  readonly connectionMaxAgeMs?: number | undefined;
  /** Whether connections for reads are kept for the next read; true by default. Connections for writes are never kept. */
  readonly keepAlive?: boolean | undefined;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
  /** If omitted, connections go directly to the bank, and Node's certificates apply. */
  readonly network?: NetworkOptions | undefined;
  /** Called when a call or an update is refused for lack of capacity. Must not throw. */
  readonly onShed?: ((why: ShedReason) => void) | undefined;
}

const defaults = { connectTimeoutMs: 1000, connectionMaxAgeMs: 60_000 };

/** The calls of a bank operation over kept connections (reads), or over one for a single call each. */
export interface PoolUsage extends OperationUsage {
  readonly pool: 'kept' | 'alone';
}

/** The room that the GraphQL operation has for the bank's answers. */
export interface ReadBudget {
  /**
   * Counts bytes of an answer, which is kept until the operation ends. Returns false if there is no room for the bytes. A
   * negative number releases bytes.
   */
  keep(bytes: number): boolean;
}

/** When a call is given up. */
export interface CallLimits {
  /** Covers the wait at the gate, connecting, the headers and the whole body; in milliseconds of performance.now(). */
  readonly deadline: number;
  /** Cancels the call; null if nobody can. */
  readonly cancellation: Cancellation | null;
  /** The GraphQL operation that it belongs to. */
  readonly operationDeadline: OperationDeadline | null;
  /** Null if nothing is bounded. */
  readonly readBudget: ReadBudget | null;
  /** Called right before the request is written. If it throws, the request is not sent: the call fails, with `sent` false. */
  readonly beforeStart?: (() => void) | undefined;
}

/** The limits of a call that belongs to no operation: only the deadline ends it. */
export const limitedBy = (deadline: number, beforeStart?: () => void): CallLimits => ({
  deadline,
  cancellation: null,
  operationDeadline: null,
  readBudget: null,
  beforeStart,
});

/** Sends a call, once. It never rejects. */
export type Send = (call: PreparedCall, limits: CallLimits) => Promise<HttpResult>;

interface Transport {
  readonly send: Send;
  usage(): readonly PoolUsage[];
  /** The number of calls in progress: reads or writes, whichever are more. */
  held(): number;
  /** Opens new connections with these certificates from now on. Earlier connections get no further calls. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

/** The connections of one kind, and the calls that use them. */
interface Lane {
  readonly gate: Gate;
  /** The pool for a call that starts at this time. */
  dispatcherAt(now: number): Dispatcher;
  readonly origin: string;
  readonly maxBodyBytes: number;
  /** Says why there is no connection. */
  readonly noConnection: string;
  readonly onShed: (why: ShedReason) => void;
}

/**
 * HTTP/1.1 to one origin. It follows no redirect, retries nothing and decodes no encoding. Reads share kept connections. Each
 * write and payment has its own connection, which is closed after the answer: if the bank had just closed a kept connection,
 * nobody would know whether the bank saw the request. undici's own deadlines are off: its header deadline counts in seconds and
 * never fires during 1xx answers, and its body deadline never fires while bytes trickle in. `dispatch` is used instead of
 * `request`, because its handler is called before the request is written: until that call, nothing was sent.
 */
export function createTransport(options: TransportOptions): Transport {
  const {
    origin,
    connections,
    waitingCalls = Number.POSITIVE_INFINITY,
    network = {},
    keepAlive = true,
  } = options;
  const { proxyUrl = null } = network;
  const { connectTimeoutMs = defaults.connectTimeoutMs, connectionMaxAgeMs = defaults.connectionMaxAgeMs } =
    options;
  /** The dispatchers that were opened and may still have calls. */
  const opened = new Set<Dispatcher>();

  function openPools(secureContext: SecureContext | undefined) {
    const connector = createConnector(connectTimeoutMs, secureContext);
    return (isKept: boolean): Dispatcher => {
      const poolOptions = {
        connections,
        pipelining: isKept && keepAlive ? 1 : 0,
        maxResponseSize: options.maxBodyBytes,
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      const dispatcher =
        proxyUrl === null
          ? new Pool(origin, { ...poolOptions, connect: connector })
          : new ProxyAgent({ ...poolOptions, ...proxyOptions(proxyUrl, connectTimeoutMs, secureContext) });
      opened.add(dispatcher);
      return dispatcher;
    };
  }

  let open = openPools(network.secureContext);
  let isClosed = false;
  function createLane(isKept: boolean) {
    let dispatcher = open(isKept);
    let openedAt = performance.now();
    /** Opens a new pool. Calls of the old pool continue to their end. */
    const renew = () => {
      if (isClosed) return;
      const old = dispatcher;
      dispatcher = open(isKept);
      openedAt = performance.now();
      old.close().then(
        () => opened.delete(old),
        () => {},
      );
    };
    return {
      gate: new Gate({ max: connections, maxWaiting: waitingCalls }),
      dispatcherAt(now: number) {
        // Instead of undici's `clientTtl`, which reads the clock at each call for each connection in use.
        if (now - openedAt >= connectionMaxAgeMs) renew();
        return dispatcher;
      },
      renew,
      origin,
      maxBodyBytes: options.maxBodyBytes,
      noConnection: proxyUrl === null ? 'no connection' : 'no way through the proxy',
      onShed: options.onShed ?? (() => {}),
    };
  }
  const lanes = { kept: createLane(true), alone: createLane(false) };

  const usageOf = (pool: PoolUsage['pool']) => lanes[pool].gate.usage.map((usage) => ({ ...usage, pool }));
  return {
    send(call, limits) {
      const lane = call.operation.kind === 'read' ? lanes.kept : lanes.alone;
      return new Exchange(lane, call, limits).begin();
    },
    usage: () => [...usageOf('kept'), ...usageOf('alone')],
    held: () => Math.max(lanes.kept.gate.held, lanes.alone.gate.held),
    useTls(secureContext) {
      open = openPools(secureContext);
      lanes.kept.renew();
      lanes.alone.renew();
    },
    async close() {
      isClosed = true;
      await Promise.all([...opened].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/**
 * `proxyTunnel`, because for a bank of plain http undici would otherwise ask the proxy for each request, and drop the pool's
 * options. A proxy that does not answer to CONNECT is given up after the deadline for connecting, which undici rounds to seconds.
 */
const proxyOptions = (
  proxyUrl: string,
  connectTimeoutMs: number,
  secureContext: SecureContext | undefined,
) => {
  const { username, password, origin } = new URL(proxyUrl);
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const token = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  return {
    uri: origin,
    ...(user === '' && secret === '' ? {} : { token }),
    proxyTunnel: true,
    connectTimeout: connectTimeoutMs,
    requestTls: tlsOptions(secureContext),
    proxyTls: { ...tlsOptions(undefined), autoSelectFamily: true },
    clientFactory: (url: URL, more: object) => new Pool(url, { ...more, headersTimeout: connectTimeoutMs }),
    factory: (url: URL, more: object) => new Pool(url, more),
  };
};

/** Whether this is the value of Content-Encoding of an encoded body. Some servers name the body's charset there. */
const namesEncoding = (value: string): boolean => !/^(identity)?$/i.test(value) && decoderOf(value) === null;
/** How much of another value an error shows, in characters. */
const maxShownEncoding = 40;
const emptyBody = Buffer.alloc(0);

/** One request and its answer, from its wait in the gate to the last byte. It is undici's handler of the request. */
class Exchange implements Dispatcher.DispatchHandler, GateEntry {
  readonly operation: string;
  waitsFor: GateEntry['waitsFor'] = [];
  places: GateEntry['places'] = [];
  readonly #lane: Lane;
  readonly #call: PreparedCall;
  readonly #limits: CallLimits;
  readonly #result = Promise.withResolvers<HttpResult>();
  #timer: NodeJS.Timeout | undefined;
  #timeoutMs = 0;
  #enteredAt = 0;
  /** Set just before the request is written. While it is null, nothing was sent. */
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #status = 0;
  #headers: HttpResponse['headers'] = {};
  /** The body so far: its first `#size` bytes. */
  #body: Buffer = emptyBody;
  #size = 0;

  constructor(lane: Lane, call: PreparedCall, limits: CallLimits) {
    this.operation = call.operation.id;
    this.#lane = lane;
    this.#call = call;
    this.#limits = limits;
  }

  begin(): Promise<HttpResult> {
    const { deadline, cancellation } = this.#limits;
    this.#timeoutMs = deadline - performance.now();
    if (this.#timeoutMs <= 0) this.#fail('timeout', 'no time was left to send it');
    else if (cancellation?.isCancelled) this.onCancel();
    else {
      if (cancellation !== null) cancellation.pending = this;
      this.#timer = setTimeout(() => this.#onDeadline(), this.#timeoutMs).unref();
      this.#lane.gate.ask(this, this.#call.caller);
    }
    return this.#result.promise;
  }

  enter(): void {
    this.#enteredAt = performance.now();
    this.#lane
      .dispatcherAt(this.#enteredAt)
      .dispatch({ ...this.#call.request, origin: this.#lane.origin }, this);
  }

  refuse(): void {
    this.#lane.onShed('connections');
    this.#fail('overloaded', refusals.connections);
  }

  onCancel(): void {
    this.#lane.gate.cancel(this);
    this.#fail('cancelled', 'the caller left');
  }

  #onDeadline(): void {
    if (this.#lane.gate.cancel(this)) this.refuse();
    else this.#fail('timeout', `no whole answer within ${Math.round(this.#timeoutMs)} ms`);
  }

  /**
   * undici cannot cancel a request that waits for a connection. If such a request was given up in the meantime,
   * it ends here: this method throws, undici writes nothing, and keeps the connection.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { deadline, beforeStart } = this.#limits;
    if (performance.now() >= deadline) this.#onDeadline();
    if (!this.#isSettled && beforeStart !== undefined) this.#askBeforeStart(beforeStart);
    if (this.#isSettled) throw new Error('given up before it was sent');
    this.#controller = controller;
  }

  #askBeforeStart(beforeStart: () => void): void {
    try {
      beforeStart();
    } catch (error) {
      if (error instanceof TransportFailure) this.#settle(error);
      else this.#settle(this.#failure('cancelled', 'it must not be sent any more', error));
    }
  }

  onResponseStart(_: unknown, status: number, headers: HttpResponse['headers']): void {
    // undici fails the request at a 100 or 101; other interim responses are passed over.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const encoding = String(headers['content-encoding'] ?? '');
    if (!namesEncoding(encoding)) return;
    const shown = redact(encoding, secretsOf(this.#call.credentials), maxShownEncoding);
    this.#stopReading(`its Content-Encoding is ${shown}, although bankql asks for none`);
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#limits.readBudget?.keep(chunk.length) === false) {
      this.#fail('no room', 'there is no room for the answer');
      return;
    }
    if (this.#size === 0) this.#body = chunk;
    else this.#append(chunk);
    this.#size += chunk.length;
  }

  /** Most bodies are one chunk. The chunks of longer bodies are copied: many tiny chunks would take too much memory. */
  #append(chunk: Buffer): void {
    const size = this.#size + chunk.length;
    if (size > this.#body.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#body.length));
      this.#body.copy(grown, 0, 0, this.#size);
      this.#body = grown;
    }
    chunk.copy(this.#body, this.#size);
  }

  onResponseEnd(): void {
    this.#lane.gate.leave(this, true);
    this.#settle(this.#response());
  }

  onResponseError(_: unknown, error: Error): void {
    this.#lane.gate.leave(this);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
      this.#stopReading(`the answer is longer than ${this.#lane.maxBodyBytes} bytes`);
    // The bank answered, with a status that undici does not pass on.
    else if (code === 'UND_ERR_HEADERS_OVERFLOW' && !this.#isSettled)
      this.#settle(this.#failure('refused', `its headers are longer than ${maxHeaderSize} bytes`));
    const { noConnection } = this.#lane;
    const message = describeTlsFailure(error) ?? (this.#controller ? 'the connection broke' : noConnection);
    if (!this.#isSettled) this.#settle(this.#failure('unavailable', message, error));
  }

  /** Stops reading: for an error response, the status is enough. */
  #stopReading(message: string): void {
    const isGood = this.#status >= 200 && this.#status < 300;
    const result = isGood ? this.#failure('refused', message) : this.#response();
    this.#settle(result);
    this.#controller?.abort(new Error(message));
  }

  #fail(reason: TransportFailure['reason'], message: string): void {
    if (this.#isSettled) return;
    const failure = this.#failure(reason, message);
    this.#settle(failure);
    // If the connection is still being opened, the request leaves it once it is open or has failed.
    this.#controller?.abort(failure);
  }

  #failure(reason: TransportFailure['reason'], message: string, cause?: unknown): TransportFailure {
    return new TransportFailure(reason, this.#controller !== null, message, cause);
  }

  #response(): HttpResponse {
    const body = this.#body.length === this.#size ? this.#body : this.#body.subarray(0, this.#size);
    const milliseconds = performance.now() - this.#enteredAt;
    return { status: this.#status, headers: this.#headers, body, milliseconds };
  }

  #settle(result: HttpResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    const { cancellation } = this.#limits;
    if (cancellation !== null) cancellation.pending = null;
    // A settled request drops its references, so that the garbage collector copies less.
    this.#timer = undefined;
    this.#body = emptyBody;
    this.#result.resolve(result);
  }
}
