import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes of answers that were handed over and that the network has not taken yet, of all connections together. */
export class UnreadBytes {
  /** How many they may be. */
  readonly #max: number;
  total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.total >= this.#max;
  }

  hasRoomFor(bytes: number): boolean {
    return this.total + bytes <= this.#max;
  }
}

/** A client's connection: the requests that are under way on it, and what it has not taken of their answers. */
export class Connection {
  readonly #socket: Socket;
  readonly #all: UnreadBytes;
  /** In the order of their requests, which is the order in which they are sent. */
  readonly #responses: ServerResponse[] = [];
  #unread = 0;
  /** Since when the first of the unread bytes are waiting, by performance.now(). */
  #waitingSince = 0;

  constructor(socket: Socket, all: UnreadBytes) {
    this.#socket = socket;
    this.#all = all;
  }

  get isIdle(): boolean {
    return this.#responses.length === 0;
  }

  begin(response: ServerResponse): void {
    this.#responses.push(response);
  }

  /** A response is sent, or its client has left. */
  end(response: ServerResponse): void {
    // Responses to pipelined requests end in their order.
    if (this.#responses[0] === response) this.#responses.shift();
  }

  /** So many bytes were handed over. */
  wrote(bytes: number): void {
    if (this.#unread === 0) this.#waitingSince = performance.now();
    this.#unread += bytes;
    this.#all.total += bytes;
  }

  /** So many of them are out, or will never be. */
  flushed(bytes: number): void {
    this.#unread -= bytes;
    this.#all.total -= bytes;
    if (this.#unread > 0) this.#waitingSince = performance.now();
  }

  /** Ends it where an answer has been waiting for longer than this to be taken, in milliseconds. */
  enforceDeadline(deadlineMs: number): void {
    if (this.#unread > 0 && performance.now() - this.#waitingSince > deadlineMs) this.#socket.destroy();
  }

  /**
   * The socket is closed. Node says so to the response that is being sent, and not to those of the requests that were
   * pipelined behind it: whoever works for them would never hear of it. It may say so later, when they are answered all
   * the same: listen with `once`.
   */
  close(): void {
    for (const response of this.#responses.splice(0)) {
      if (response.socket !== null) continue;
      response.destroy();
      response.emit('close');
    }
  }
}
