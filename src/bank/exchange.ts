import type { Dispatcher } from 'undici';
import type { Cancel, Endable } from './cancel.ts';
import type { Connection } from './connection.ts';
import type { Deadline, Deadlines, Timed } from './deadlines.ts';
import type { Turnstile, Visitor, Wait } from './turnstile.ts';
import { type Outcome, TransportFailure, type WireReply, type WireRequest } from './wire.ts';

/** Connections of one kind, and what bounds those who use them. */
export interface Line {
  readonly connections: Turnstile<Connection>;
  /** How long one may wait for a connection, in milliseconds, and the deadlines of those who do. */
  readonly waitMs: number;
  readonly waits: Deadlines;
  /** The deadlines of those who have one. */
  readonly deadlines: Deadlines;
  readonly maxBodyBytes: number;
}

export interface ExchangeOptions {
  /** The caller's id, and that of the REST operation: where connections are short, each waits for itself. */
  readonly caller: string;
  readonly operation: string;
  /** Whose credentials the request bears. */
  readonly identity: string;
  /** One deadline over the wait for a connection, connect, headers, and the whole body; `overloaded` until there is one. */
  readonly timeoutMs: number;
  /** Gives the request up where it is raised. */
  readonly cancel?: Cancel | undefined;
}

/** How many interim (1xx) responses may come before the final one; how long each may be is bounded by undici. */
const maxInterimResponses = 1000;

/** One request and its answer, from the wait for a connection to the last byte, as undici tells of it. */
export class Exchange implements Dispatcher.DispatchHandler, Visitor<Connection>, Timed, Endable {
  readonly caller: string;
  readonly operation: string;
  readonly #identity: string;
  readonly #line: Line;
  readonly #request: WireRequest;
  readonly #timeoutMs: number;
  readonly #cancel: Cancel | undefined;
  readonly #resolve: (outcome: Outcome) => void;
  #deadline: Deadline | null = null;
  /** Where it waits for a connection, and until when. */
  #wait: Wait<Connection> | null = null;
  #waitsUntil: Deadline | null = null;
  #connection: Connection | null = null;
  #startedAt = 0;
  /** Known from when the request starts to be written: until then, nothing was sent. */
  #controller: Dispatcher.DispatchController | null = null;
  #isOver = false;
  #interimResponses = 0;
  #status = 0;
  #headers: WireReply['headers'] = {};
  #chunks: Buffer[] | null = null;
  #size = 0;

  constructor(
    line: Line,
    request: WireRequest,
    { caller, operation, identity, timeoutMs, cancel }: ExchangeOptions,
    resolve: (outcome: Outcome) => void,
  ) {
    this.caller = caller;
    this.operation = operation;
    this.#identity = identity;
    this.#line = line;
    this.#request = request;
    this.#timeoutMs = timeoutMs;
    this.#cancel = cancel;
    this.#resolve = resolve;
  }

  begin(): void {
    const { connections, deadlines, waits, waitMs } = this.#line;
    if (this.#timeoutMs <= 0) this.#giveUp('timeout', 'no time was left to send it');
    if (this.#cancel?.isRaised) this.onCancel();
    if (this.#isOver) return;
    if (this.#cancel !== undefined) this.#cancel.waitsFor = this;
    const now = performance.now();
    this.#deadline = deadlines.set(now + this.#timeoutMs, this);
    this.#wait = connections.enter(this, now);
    if (this.#wait !== null) this.#waitsUntil = waits.set(now + waitMs, this);
  }

  suits(connection: Connection): boolean {
    return connection.suits(this.#identity);
  }

  enter(connection: Connection, now: number): void {
    this.#connection = connection;
    this.#startedAt = now;
    this.#stopWaiting();
    connection.dispatch(this.#request, this, this.#identity);
  }

  onTimeout(): void {
    if (this.#connection === null) this.#giveUp('overloaded', 'no connection became free in time');
    else this.#giveUp('timeout', `no whole answer within ${this.#timeoutMs} ms`);
  }

  onCancel(): void {
    this.#giveUp('cancelled', 'the caller left');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A request whose time ran out while its connection was made must not be sent any more.
    if (!this.#isOver) {
      this.#controller = controller;
      this.#connection?.expectResponse();
    } else {
      controller.abort(new Error('given up before it was sent'));
      this.#leaveLater();
    }
  }

  onResponseStart(_: unknown, status: number, headers: WireReply['headers']): void {
    if (status < 200) {
      this.#passOver(status);
      return;
    }
    this.#status = status;
    this.#headers = headers;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      this.#cut('the answer is encoded although none was asked for');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxBodyBytes } = this.#line;
    this.#size += chunk.length;
    if (this.#size > maxBodyBytes) this.#cut(`the answer is longer than ${maxBodyBytes} bytes`);
    else if (this.#isOver) return;
    else if (this.#chunks === null) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#end(this.#reply());
    this.#leaveLater();
  }

  onResponseError(_: unknown, error: Error): void {
    const message = this.#controller === null ? 'no connection' : 'the connection broke';
    if (!this.#isOver) this.#end(this.#failure('unavailable', message, error));
    this.#leaveLater();
  }

  /** Interim responses are ignored, but a bank that switches protocols, or sends nothing else, does not answer. */
  #passOver(status: number): void {
    this.#interimResponses++;
    if (status === 101) this.#giveUp('unavailable', 'the bank switched protocols');
    else if (this.#interimResponses > maxInterimResponses)
      this.#giveUp('unavailable', `more than ${maxInterimResponses} interim responses came`);
  }

  /** Reads no further: of an error, the status says enough. */
  #cut(message: string): void {
    if (this.#isOver) return;
    const isGood = this.#status >= 200 && this.#status < 300;
    this.#end(isGood ? this.#failure('refused', message) : this.#reply());
    this.#abort(new Error(message));
  }

  #giveUp(reason: TransportFailure['reason'], message: string): void {
    if (this.#isOver) return;
    const failure = this.#failure(reason, message);
    this.#end(failure);
    // A connection that is still being made is nobody's until it is there, or is known not to come.
    if (this.#controller !== null) this.#abort(failure);
  }

  #failure(reason: TransportFailure['reason'], message: string, cause?: unknown): TransportFailure {
    return new TransportFailure(reason, this.#controller !== null, message, cause);
  }

  #reply(): WireReply {
    const chunks = this.#chunks ?? [];
    const [only] = chunks;
    const body = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
    const milliseconds = performance.now() - this.#startedAt;
    return { status: this.#status, headers: this.#headers, body, milliseconds };
  }

  /** An answer that nobody reads would keep the connection. */
  #abort(error: Error): void {
    this.#controller?.abort(error);
    this.#leaveLater();
  }

  /**
   * Gives the connection back a turn of the event loop later. undici has done with it by then, and takes it for one that
   * was used: before it writes to it again it listens once more, so that bytes that nobody asked for end the connection
   * and are not the next caller's answer (GHSA-35p6-xmwp-9g52). One that is given more to do at once it does not ask.
   */
  #leaveLater(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    setImmediate(() => this.#line.connections.leave(connection));
  }

  #stopWaiting(): void {
    if (this.#waitsUntil !== null) this.#line.waits.clear(this.#waitsUntil);
    this.#waitsUntil = null;
    this.#wait = null;
  }

  #end(outcome: Outcome): void {
    this.#isOver = true;
    if (this.#wait !== null) this.#line.connections.giveUp(this.#wait);
    this.#stopWaiting();
    if (this.#deadline !== null) this.#line.deadlines.clear(this.#deadline);
    // What is over holds nothing that others hold on to: the collector copies less.
    this.#deadline = null;
    this.#chunks = null;
    if (this.#cancel !== undefined) this.#cancel.waitsFor = null;
    this.#resolve(outcome);
  }
}
