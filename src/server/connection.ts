import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What one caller may hold of all unread bytes. */
const callerShare = 1 / 8;

/** Bytes of answers that were handed over and that the network has not taken yet: all of them, or those of one caller. */
export class UnreadBytes {
  /** How many they may be. */
  readonly #max: number;
  /** Of what they are a part. */
  readonly #all: UnreadBytes | null;
  total = 0;

  constructor(max: number, all: UnreadBytes | null = null) {
    this.#max = max;
    this.#all = all;
  }

  /** Those of one caller. */
  ofCaller(): UnreadBytes {
    return new UnreadBytes(this.#max * callerShare, this);
  }

  get isFull(): boolean {
    return this.total >= this.#max;
  }

  /** Where a caller holds nothing there is room for one answer of his, as long as there is any. */
  hasRoomFor(bytes: number): boolean {
    const all = this.#all;
    if (all === null) return this.total + bytes <= this.#max;
    return (this.total === 0 || this.total + bytes <= this.#max) && all.hasRoomFor(bytes);
  }

  add(bytes: number): void {
    this.total += bytes;
    this.#all?.add(bytes);
  }
}

/** An answer, which knows how long it has been waiting to be taken. */
interface PendingResponse extends ServerResponse {
  /** Since when its first unread byte waits, by performance.now(); null while it has none. */
  readonly waitingSince: number | null;
}

/** A client's connection, with the requests that are under way on it. */
export class Connection {
  /** Where what it has not taken of their answers is counted. */
  readonly unread: UnreadBytes;
  readonly #socket: Socket;
  /** In the order of their requests, which is the order in which they are sent. */
  readonly #responses: PendingResponse[] = [];

  constructor(socket: Socket, unread: UnreadBytes) {
    this.#socket = socket;
    this.unread = unread;
  }

  get isIdle(): boolean {
    return this.#responses.length === 0;
  }

  begin(response: PendingResponse): void {
    this.#responses.push(response);
  }

  /** A response is sent, or its client has left. */
  end(response: PendingResponse): void {
    // Responses to pipelined requests end in their order.
    if (this.#responses[0] === response) this.#responses.shift();
  }

  /** Its latest answer says that it ends, if that can still be said; a client that does not know sends another request. */
  announceEnd(): void {
    const latest = this.#responses.at(-1);
    if (latest?.headersSent === false) latest.shouldKeepAlive = false;
  }

  /**
   * Ends it where any of its answers has been waiting for longer than this to be taken, in milliseconds. Each has a deadline
   * of its own: who takes one answer in a while would keep those behind it for ever.
   */
  enforceDeadline(deadlineMs: number): void {
    const first = performance.now() - deadlineMs;
    if (this.#responses.some(({ waitingSince }) => waitingSince !== null && waitingSince < first))
      this.#socket.destroy();
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
