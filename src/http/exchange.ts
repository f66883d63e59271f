import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { readBody } from './body.ts';
import type { Head } from './head.ts';

/** The body of an answer. A long body is encoded once, so that its length is known. */
export type Body = string | Buffer<ArrayBuffer>;

/** An answer that is complete before it is sent. */
export interface WholeAnswer {
  readonly status: number;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body: Body;
  /** The length of the body, if it is known. */
  readonly bytes?: number;
}

/** An answer whose body is still being created. It is sent at the client's pace. */
export interface StreamedAnswer extends Omit<WholeAnswer, 'body' | 'bytes'> {
  readonly chunks: AsyncGenerator<Body, void>;
}

export type Answer = WholeAnswer | StreamedAnswer;

/** A request and its answer, over node:http or Fetch. */
export interface Exchange {
  readonly request: Head;
  /** The resources that the request holds. */
  readonly holder: RequestHolder;
  /** Whether the client waits for its answer, has received a part or all of it, or left before it began. */
  readonly state: 'waiting' | 'begun' | 'answered' | 'left';
  /** Reads the body, and counts its bytes for the request as they arrive. Errors: RequestError; ClientDisconnected. */
  readBody(maxBytes: number): Promise<Uint8Array>;
  /** Sends an answer; `common` are headers of every answer. Resolves when all is sent or the client has left. */
  send(answer: Answer, common: readonly string[]): void | Promise<void>;
  /**
   * Sends an answer without reading the request's body. An answer that has begun already is cut off instead, so that the client
   * sees that it is incomplete.
   */
  refuse(answer: WholeAnswer): void;
}

/**
 * The common headers and the answer's own. A header of the answer replaces the common one of the same name,
 * except `Vary`, which may occur twice.
 */
export function withCommon(headers: readonly string[], common: readonly string[]): string[] {
  // Nearly all answers have a single header, their Content-Type, which is never a common one.
  if (headers.length === 2) return [...common, ...headers];
  const own = new Set(headers.filter((name, at) => at % 2 === 0 && name !== 'Vary'));
  return [...common.filter((_text, at) => !own.has(common[at - (at % 2)] ?? '')), ...headers];
}

/** An exchange over node:http. If bankql is mounted, a parser of the server around it may have put the body into `body`. */
export class NodeExchange implements Exchange {
  readonly request: IncomingMessage & { readonly body?: unknown };
  readonly holder: RequestHolder;
  readonly #response: ServerResponse & { readonly awaitsContinue?: boolean };

  constructor(request: IncomingMessage, response: ServerResponse, holder: RequestHolder) {
    this.request = request;
    this.holder = holder;
    this.#response = response;
    // Only the body of a POST is read. Any other body is dropped as it arrives, because Node would keep its
    // chunks until the answer is sent.
    if (request.method !== 'POST') request.resume();
  }

  get state(): Exchange['state'] {
    const { destroyed, writableFinished, writableEnded, headersSent } = this.#response;
    if (destroyed && !writableFinished) return 'left';
    if (writableEnded) return 'answered';
    return headersSent ? 'begun' : 'waiting';
  }

  readBody(maxBytes: number): Promise<Uint8Array> {
    if (this.#response.awaitsContinue === true) this.#response.writeContinue();
    return readBody(this.request, maxBytes, this.holder);
  }

  send(answer: Answer, common: readonly string[]): void | Promise<void> {
    const response = this.#response;
    if ('chunks' in answer) return writeStream(response, answer, common);
    // The client may have left while the answer was prepared.
    if (response.destroyed || response.headersSent) return;
    const { status, headers, body, bytes = Buffer.byteLength(body) } = answer;
    response.writeHead(status, [...withCommon(headers, common), 'Content-Length', String(bytes)]);
    // ASCII is sent as latin1, which gives the same bytes: for UTF-8, Node reserves three bytes for each character.
    response.end(body, bytes === body.length ? 'latin1' : 'utf8');
  }

  refuse({ status, headers, body }: WholeAnswer): void {
    const { state } = this;
    const response = this.#response;
    if (state === 'begun') response.destroy();
    if (state !== 'waiting') return;
    const { 'content-length': length = '0', 'transfer-encoding': coding } = this.request.headers;
    // The rest of the body is not read, so the connection ends with the answer.
    if (length !== '0' || coding !== undefined) response.shouldKeepAlive = false;
    response.writeHead(status, [...headers]);
    response.end(body === '' ? undefined : body);
  }
}

/** Writes an answer at the client's pace. Resolves when it is sent or the client has left. */
async function writeStream(
  response: ServerResponse,
  { status, headers, chunks }: StreamedAnswer,
  common: readonly string[],
): Promise<void> {
  if (response.destroyed || response.headersSent) return void (await chunks.return());
  response.writeHead(status, withCommon(headers, common));
  try {
    for await (const chunk of chunks) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response);
    }
    response.end();
  } catch (error) {
    // Without the final chunk, the client sees that the stream is incomplete.
    if (response.socket === null) response.destroy();
    else response.socket.destroySoon();
    // A DOMException means that the stream is cut off on purpose.
    if (!(error instanceof DOMException)) throw error;
  }
}

/** Resolves when the network has taken the written bytes, or the client has disconnected. */
const drained = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    if (response.destroyed) return resolve();
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
