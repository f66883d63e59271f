import type { IncomingMessage } from 'node:http';
import type { Identity } from '../bank/credentials.ts';
import {
  type Capacity,
  type Holder,
  nobody,
  overheadBytes,
  refusalOnArrival,
  type ShedReason,
} from '../capacity.ts';
import { getOrMake } from '../get-or-make.ts';
import { overloadedError, type RequestError } from './errors.ts';

/** The resources that a request holds, and its caller. Nothing is counted any more once the request is over. */
export class RequestHolder implements Holder {
  caller = nobody;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  isMutation = false;
  /** Bytes of its answer that are written and that the network has not taken, before the answer is ended. */
  written = 0;
  /** Whether nothing more needs to be done for it: its client has left. */
  isAbandoned = false;
  /** Whether it was refused because there is too much to do. */
  isRefused = false;
  /** The peer that sent it, as far as the network knows. */
  readonly peer: string;
  readonly #capacity: Capacity;
  readonly #head: Head;
  #isOver = false;
  #abort: AbortController | null = null;

  constructor(capacity: Capacity, peer: string, head: Head) {
    this.#capacity = capacity;
    this.peer = peer;
    this.#head = head;
  }

  /** Is raised when nothing more needs to be done for it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.isAbandoned) this.#abort.abort(leftReason);
    return this.#abort.signal;
  }

  /** Its caller, as far as that is known: null for the peer. */
  identify(caller: Identity | null): void {
    if (!this.#isOver) this.#capacity.assign(this, caller?.name ?? this.peer, caller?.group ?? this.peer);
  }

  /** So many bytes of it have arrived now, and more of it is awaited. Errors: RequestError OVERLOADED. */
  awaitMore(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify(null);
    this.#check(
      this.#capacity.take(this, 'arriving', this.arriving === 0 ? bytes + headBytes(this.#head) : bytes),
    );
  }

  /** It has arrived, and the work for it begins. Errors: RequestError OVERLOADED. */
  admit(): void {
    if (!this.#isOver) this.#check(this.#capacity.admit(this));
  }

  #check(why: ShedReason | null): void {
    if (why === null) return;
    this.isRefused = true;
    throw overloaded(why);
  }

  /** Takes so many more values. Returns whether there are enough, and its client has not left. */
  takeValues(count: number): boolean {
    if (this.#isOver) return !this.isAbandoned;
    return this.requests > 0 && this.#capacity.take(this, 'values', count) === null;
  }

  /**
   * Reserves room for so many bytes, in the place of what was reserved before, until they are written; false if there
   * is not enough, and nothing is reserved then.
   */
  reserveRoom(bytes: number): boolean {
    if (this.#isOver) return true;
    this.#capacity.add(this, 'unread', this.written - this.unread);
    return this.#capacity.take(this, 'unread', bytes) === null;
  }

  /** So many bytes of its answer are written, in the place of those that were reserved. */
  write(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify(null);
    this.#capacity.add(this, 'unread', this.written + bytes - this.unread);
    this.written += bytes;
  }

  /** The network has taken so many bytes. */
  sent(bytes: number): void {
    if (this.#isOver) return;
    this.written -= bytes;
    this.#capacity.add(this, 'unread', -bytes);
  }

  /** Its answer is complete with so many bytes more: it holds only what its client has not read. */
  answered(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify(null);
    this.#capacity.release(this, this.written + bytes + overheadBytes);
  }

  /** It is over: its answer is sent, or its client has left. */
  end(hasLeft: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#capacity.leave(this);
    if (!hasLeft) return;
    this.isAbandoned = true;
    this.#abort?.abort(leftReason);
  }
}

type Head = Pick<IncomingMessage, 'url' | 'rawHeaders'>;

/** What Node keeps for each header in addition to its text, in bytes. */
const headerBytes = 128;

/** The memory that the head of a waiting request takes: the usual overhead, or more if it has many or long headers. */
function headBytes({ url = '', rawHeaders }: Head): number {
  let bytes = url.length + (rawHeaders.length / 2) * headerBytes;
  for (const text of rawHeaders) bytes += text.length;
  return Math.max(overheadBytes, bytes);
}

/** Nobody sees it. Without a reason, `abort` would make an error with a stack for each request. */
const leftReason = new Error('The client has left.');

const refusals = new Map<ShedReason, RequestError>();

/** One error for each reason: a refusal must cost far less than what is refused, and an error costs most of it. */
const overloaded = (why: ShedReason): RequestError =>
  getOrMake(refusals, why, () => overloadedError(refusalOnArrival(why)));
