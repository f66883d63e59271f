import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Connection } from './connection.ts';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Sent = (error?: Error | null) => void;

const sizeOf = (chunk: unknown): number => {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk);
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};

/**
 * An answer that tells the truth about its connection. Where it is given before the body was read to its end, the rest
 * is dropped as it comes, and the connection stays: judge() has seen how long it is. A body in chunks may have no end:
 * the connection closes, and the answer says so. What its client has not taken of it is counted at its connection.
 */
export class ConnectionAwareResponse extends ServerResponse {
  #connection: Connection | null = null;
  #unread = 0;

  /** Its connection, at which its bytes count from here on. */
  belongTo(connection: Connection): void {
    this.#connection = connection;
    connection.begin(this);
    // Once: see Connection.close().
    this.once('close', () => {
      this.#count(-this.#unread);
      connection.end(this);
      // What is made of it from here on goes nowhere.
      this.#connection = null;
    });
  }

  #count(bytes: number): void {
    this.#unread += bytes;
    if (bytes > 0) this.#connection?.wrote(bytes);
    else if (bytes < 0) this.#connection?.flushed(-bytes);
  }

  override writeHead(status: number, reason?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const { complete, headers: asked } = this.req;
    if (!complete && asked['transfer-encoding'] !== undefined) this.setHeader('Connection', 'close');
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, reason);
  }

  override write(chunk: unknown, sent?: Sent): boolean;
  override write(chunk: unknown, encoding: BufferEncoding, sent?: Sent): boolean;
  override write(chunk: unknown, encoding?: BufferEncoding | Sent, sent?: Sent): boolean {
    const bytes = sizeOf(chunk);
    this.#count(bytes);
    const whenSent: Sent = (error) => {
      // What is never sent is taken back when the answer is closed.
      if (!error && this.#unread >= bytes) this.#count(-bytes);
      (typeof encoding === 'function' ? encoding : sent)?.(error);
    };
    return typeof encoding === 'string'
      ? super.write(chunk, encoding, whenSent)
      : super.write(chunk, whenSent);
  }

  override end(sent?: () => void): this;
  override end(chunk: unknown, sent?: () => void): this;
  override end(chunk: unknown, encoding: BufferEncoding, sent?: () => void): this;
  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), sent?: () => void): this {
    // Taken back when all is out: Node then says that the answer is closed.
    this.#count(sizeOf(chunk));
    if (typeof encoding === 'string') return super.end(chunk, encoding, sent);
    return typeof chunk === 'function' ? super.end(chunk) : super.end(chunk, encoding);
  }
}
