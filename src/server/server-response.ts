import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Connection, UnreadBytes } from './connection.ts';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Sent = (error?: Error | null) => void;

const sizeOf = (chunk: unknown): number => {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk);
  return chunk instanceof Uint8Array ? chunk.byteLength : 0;
};

/**
 * An answer that tells the truth about its connection. Where it is given before the body was read to its end, the rest
 * is dropped as it comes, and the connection stays: judge() has seen how long it is. A body in chunks may have no end:
 * the connection closes, and the answer says so. What its client has not taken of it is counted.
 */
export class ConnectionAwareResponse extends ServerResponse {
  /** Where its unread bytes are counted; null once it is closed, when what is made of it goes nowhere. */
  #counted: UnreadBytes | null = null;
  #unread = 0;
  /** Bytes that count already, though they are not written yet. */
  #reserved = 0;
  #waitingSince = 0;

  /** Its connection, at which its bytes count from here on. */
  belongTo(connection: Connection): void {
    this.#counted = connection.unread;
    connection.begin(this);
    // Once: see Connection.close().
    this.once('close', () => {
      this.#release();
      this.#count(-this.#unread);
      connection.end(this);
      this.#counted = null;
    });
  }

  /** Its caller, at whom its bytes count from here on. Call it before anything is written. */
  countAt(caller: UnreadBytes): void {
    this.#counted = caller;
  }

  /**
   * Reserves room for so many bytes, in the place of what was reserved before, until they are written; false where there
   * is none, and nothing is reserved then.
   */
  reserveRoom(bytes: number): boolean {
    this.#release();
    if (this.#counted?.hasRoomFor(bytes) === false) return false;
    this.#reserved = this.#counted === null ? 0 : bytes;
    this.#counted?.add(this.#reserved);
    return true;
  }

  #release(): void {
    this.#counted?.add(-this.#reserved);
    this.#reserved = 0;
  }

  /** Since when its first unread byte waits, by performance.now(); null while it has none. */
  get waitingSince(): number | null {
    return this.#unread > 0 ? this.#waitingSince : null;
  }

  #count(bytes: number): void {
    if (this.#counted === null) return;
    if (this.#unread === 0) this.#waitingSince = performance.now();
    this.#unread += bytes;
    this.#counted.add(bytes);
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
    this.#release();
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
    this.#release();
    // Taken back when all is out: Node then says that the answer is closed.
    this.#count(sizeOf(chunk));
    if (typeof encoding === 'string') return super.end(chunk, encoding, sent);
    return typeof chunk === 'function' ? super.end(chunk) : super.end(chunk, encoding);
  }
}
