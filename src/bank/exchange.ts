import type { Dispatcher, Pool } from 'undici';
import type { Cancel } from './cancel.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { TransportFailure, type WireReply, type WireRequest } from './wire.ts';

interface ExchangeLimits {
  readonly deadlines: Deadlines;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly cancel: Cancel | undefined;
}

/** Sends one request, once, within its limits. Errors: TransportFailure. */
export const exchange = (pool: Pool, request: WireRequest, limits: ExchangeLimits): Promise<WireReply> =>
  new Promise((resolve, reject) => {
    const exchanging = new Exchange(resolve, reject, limits);
    if (exchanging.begin()) pool.dispatch(request, exchanging);
  });

/** One request and its answer, as undici tells of them. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (reply: WireReply) => void;
  readonly #reject: (failure: TransportFailure) => void;
  readonly #limits: ExchangeLimits;
  #deadline: Deadline | null = null;
  /** Known from when the request starts to be written: until then, nothing was sent. */
  #controller: Dispatcher.DispatchController | null = null;
  #isOver = false;
  #status = 0;
  #headers: WireReply['headers'] = {};
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    resolve: (reply: WireReply) => void,
    reject: (failure: TransportFailure) => void,
    limits: ExchangeLimits,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#limits = limits;
  }

  /** False where it is over before it is sent. */
  begin(): boolean {
    const { deadlines, timeoutMs, cancel } = this.#limits;
    if (timeoutMs <= 0) this.#fail('timeout', 'no time was left to send it');
    else if (cancel?.isRaised) this.#fail('cancelled', 'the caller left');
    else {
      this.#deadline = deadlines.set(performance.now() + timeoutMs, () =>
        this.#fail('timeout', `no whole answer within ${timeoutMs} ms`),
      );
      if (cancel !== undefined) cancel.onRaise = () => this.#fail('cancelled', 'the caller left');
    }
    return !this.#isOver;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A request whose time ran out while it waited for a connection must not be sent any more.
    if (this.#isOver) controller.abort(new Error('given up before it was sent'));
    else this.#controller = controller;
  }

  onResponseStart(_: unknown, status: number, headers: WireReply['headers']): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      this.#cut('the answer is encoded although none was asked for');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxBodyBytes } = this.#limits;
    this.#size += chunk.length;
    if (this.#size > maxBodyBytes) this.#cut(`the answer is longer than ${maxBodyBytes} bytes`);
    else if (!this.#isOver) this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#isOver) this.#succeed();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#fail('unavailable', this.#controller === null ? 'no connection' : 'the connection broke', error);
  }

  /** Reads no further: of an error, the status says enough. */
  #cut(message: string): void {
    if (this.#isOver) return;
    if (this.#status >= 200 && this.#status < 300) this.#fail('refused', message);
    else {
      this.#succeed();
      this.#controller?.abort(new Error(message));
    }
  }

  #succeed(): void {
    this.#end();
    const [first = Buffer.alloc(0)] = this.#chunks;
    const body = this.#chunks.length < 2 ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  #fail(reason: TransportFailure['reason'], message: string, cause?: unknown): void {
    if (this.#isOver) return;
    this.#end();
    const failure = new TransportFailure(reason, this.#controller !== null, message, cause);
    this.#reject(failure);
    // Frees the connection: an answer that nobody reads would keep it.
    this.#controller?.abort(failure);
  }

  #end(): void {
    this.#isOver = true;
    const { deadlines, cancel } = this.#limits;
    if (this.#deadline !== null) deadlines.clear(this.#deadline);
    // What is over holds nothing that others hold on to: the collector copies less.
    this.#deadline = null;
    if (cancel !== undefined) cancel.onRaise = null;
  }
}
