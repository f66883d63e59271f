import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { TLSSocket } from 'node:tls';
import { closeNow, listenOnLoopback } from './loopback.ts';

/** A request as it arrived at the bank. */
export interface RecordedCall {
  readonly method: string;
  /** The target of the request line, unchanged. */
  readonly path: string;
  /** Names in lower case; a header that was sent twice is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header names as they were sent, in order. */
  readonly headerNames: readonly string[];
  /** The body's text; empty if there is no body. */
  readonly body: string;
  /** The name in the client's certificate; empty if it sent none. */
  readonly client: string;
}

/** The bank's answer to a call: JSON text or a value, by default with status 200. */
export interface Reply {
  readonly status?: number;
  readonly body?: string | object;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = (call: RecordedCall) => Reply | 'reset' | 'hang' | Promise<Reply | 'reset' | 'hang'>;

/**
 * A bank that records requests byte for byte, and gives the answers of the test. It does not use the contract, so that it cannot
 * hide a mistake that the sandbox shares.
 */
export interface RecordingBank extends AsyncDisposable {
  readonly url: string;
  /** Every call so far, in the order of arrival. */
  readonly calls: RecordedCall[];
  /** Lines such as "GET /v1/api/banks/B/branches", in the order of arrival. */
  readonly lines: () => string[];
  /** The number of connections. */
  readonly connections: () => number;
  /** Sets the answer for this request line ("GET /path") from now on; a function is called for each call. */
  on(line: string, answer: Reply | Answer): RecordingBank;
  /** Sets the answer for all other request lines; by default a 404 with a text. */
  otherwise(answer: Reply | Answer): RecordingBank;
  /** Removes all recorded calls and all answers. */
  reset(): void;
  close(): Promise<void>;
}

/** `tls`: options for a bank that speaks TLS, as `localhost`. */
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
  // With a timeout, a busy machine could close a connection just when it is used again.
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
