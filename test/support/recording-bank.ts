import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { TLSSocket } from 'node:tls';
import { closeNow, listenOnLoopback } from './loopback.ts';

/** A request as it arrived at the bank. */
export interface RecordedCall {
  readonly method: string;
  /** The request line's target, as it was sent. */
  readonly path: string;
  /** Names in lower case; a header that was sent twice is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header names as they were sent, in order. */
  readonly headerNames: readonly string[];
  /** The body's text; empty where there was none. */
  readonly body: string;
  /** Whose certificate the client showed; empty if it showed none. */
  readonly client: string;
}

/** What the bank answers a call with: JSON text or a value, status 200 unless another is given. */
export interface Reply {
  readonly status?: number;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = (call: RecordedCall) => Reply | 'reset' | 'hang' | Promise<Reply | 'reset' | 'hang'>;

/**
 * A bank that writes down what it is asked, byte for byte, and answers what the test says: it knows nothing of the
 * contract, so that it cannot hide a mistake that the sandbox shares.
 */
export interface RecordingBank extends AsyncDisposable {
  readonly url: string;
  /** Every call so far, in the order of arrival. */
  readonly calls: RecordedCall[];
  /** Lines such as "GET /v1/api/banks/B/branches", in the order of arrival. */
  readonly lines: () => string[];
  /** How many connections were made. */
  readonly connections: () => number;
  /** Answers this request line ("GET /path") from now on; a function is asked for each call. */
  on(line: string, answer: Reply | Answer): RecordingBank;
  /** Answers whatever has no answer of its own; a 404 with a text without it. */
  otherwise(answer: Reply | Answer): RecordingBank;
  /** As it was at the beginning: it has been asked nothing, and has no answers. */
  reset(): void;
  close(): Promise<void>;
}

/** `tls`: it speaks TLS, as `localhost`. */
export async function startRecordingBank(tls?: ServerOptions): Promise<RecordingBank> {
  const calls: RecordedCall[] = [];
  const answers = new Map<string, Answer>();
  const nothing: Answer = ({ method, path }) => ({
    status: 404,
    body: { message: `nothing at ${method} ${path}` },
  });
  let fallback = nothing;

  let connections = 0;
  const listener = (request: IncomingMessage, response: ServerResponse) => void answer(request, response);
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on(tls === undefined ? 'connection' : 'secureConnection', () => connections++);
  // A busy machine must not let it close a connection just when that is used again.
  server.keepAliveTimeout = 0;
  async function answer(request: IncomingMessage, response: ServerResponse) {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { socket } = request;
    const call: RecordedCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
      ),
      headerNames: request.rawHeaders.filter((_, index) => index % 2 === 0),
      body: Buffer.concat(chunks).toString('utf8'),
      client: socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject?.CN ?? '') : '',
    };
    calls.push(call);
    const reply = await (answers.get(`${call.method} ${call.path}`) ?? fallback)(call);
    if (reply === 'hang') return;
    if (reply === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const { status = 200, body = '', headers = {} } = reply;
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const port = await listenOnLoopback(server);

  const asAnswer = (answer: Reply | Answer): Answer => (typeof answer === 'function' ? answer : () => answer);
  const bank: RecordingBank = {
    url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`,
    calls,
    lines: () => calls.map(({ method, path }) => `${method} ${path}`),
    connections: () => connections,
    on(line, answer) {
      answers.set(line, asAnswer(answer));
      return bank;
    },
    otherwise(answer) {
      fallback = asAnswer(answer);
      return bank;
    },
    reset() {
      calls.length = 0;
      answers.clear();
      fallback = nothing;
    },
    close: () => closeNow(server),
    [Symbol.asyncDispose]: () => bank.close(),
  };
  return bank;
}
