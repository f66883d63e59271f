import type { IncomingMessage } from 'node:http';
import { getOrMake } from '../get-or-make.ts';
import { type Caller, type Identity, nobody } from '../load/callers.ts';
import {
  type Capacity,
  type Holder,
  overheadBytes,
  refusalOnArrival,
  type ShedReason,
} from '../load/capacity.ts';
import { overloadedError, type RequestError } from './errors.ts';

/** The resources that a request holds, and its caller. Once the request is over, nothing more is counted. */
export class RequestHolder implements Holder {
  caller = nobody;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  isMutation = false;
  /** While the answer is incomplete: the number of its bytes that are written and not sent yet. */
  written = 0;
  /** Whether the client has disconnected, so that work for the request can stop. */
  isAbandoned = false;
  /** Whether the request was refused for lack of capacity. */
  isRefused = false;
  /** The network address that sent the request; of an IPv6 address, only its network (peerOf). */
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

  /** Aborts when work for the request can stop. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.isAbandoned) this.#abort.abort(leftReason);
    return this.#abort.signal;
  }

  /** Counts the request from now on for the caller with this identity; without an identity, for its network address. */
  identify(identity: Identity = { name: this.peer, group: this.peer }): Caller {
    const caller = this.#capacity.callers.find(identity);
    if (!this.#isOver) this.#capacity.assign(this, caller);
    return caller;
  }

  /** Counts newly arrived bytes of a request that is not complete yet. Errors: RequestError OVERLOADED. */
  awaitMore(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify();
    this.#check(
      this.#capacity.take(this, 'arriving', this.arriving === 0 ? bytes + headBytes(this.#head) : bytes),
    );
  }

  /**
   * Called when the request has arrived completely, before its work begins.
   * Errors: RequestError OVERLOADED.
   */
  admit(): void {
    if (!this.#isOver) this.#check(this.#capacity.admit(this));
  }

  #check(why: ShedReason | null): void {
    if (why === null) return;
    this.isRefused = true;
    throw overloaded(why);
  }

  /**
   * Takes more values. Returns false if there are not enough, or if the operation is a query and its client has left: a
   * mutation runs to its end.
   */
  takeValues(count: number): boolean {
    if (this.#isOver) return !this.isAbandoned || this.isMutation;
    return this.requests > 0 && this.#capacity.take(this, 'values', count) === null;
  }

  /**
   * Reserves memory for this number of bytes until they are written, in place of the earlier reservation. Returns false, and
   * reserves nothing, if there is not enough.
   */
  reserveRoom(bytes: number): boolean {
    if (this.#isOver) return true;
    this.#capacity.add(this, 'unread', this.written - this.unread);
    return this.#capacity.take(this, 'unread', bytes) === null;
  }

  /** Counts written bytes of the answer, in place of reserved ones. */
  write(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify();
    this.#capacity.add(this, 'unread', this.written + bytes - this.unread);
    this.written += bytes;
  }

  /** Counts bytes that were handed to the network. */
  sent(bytes: number): void {
    if (this.#isOver) return;
    this.written -= bytes;
    this.#capacity.add(this, 'unread', -bytes);
  }

  /** Called when the answer is complete with these last bytes. From now on, only unread bytes are counted. */
  answered(bytes: number): void {
    if (this.#isOver) return;
    if (this.caller === nobody) this.identify();
    this.#capacity.release(this, this.written + bytes + overheadBytes);
  }

  /** Called when the request is over: the answer is sent, or the client has disconnected. */
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

/** The memory that Node uses for each header in addition to its text, in bytes. */
const headerBytes = 128;

/** The memory that the head of a waiting request takes: the usual overhead, or more if it has many or long headers. */
function headBytes({ url = '', rawHeaders }: Head): number {
  let bytes = url.length + (rawHeaders.length / 2) * headerBytes;
  for (const text of rawHeaders) bytes += text.length;
  return Math.max(overheadBytes, bytes);
}

/** One reason for all requests: without it, `abort` would create an error with a stack for each. */
const leftReason = new Error('The client has left.');

const refusals = new Map<ShedReason, RequestError>();

/** One shared error for each reason: creating an error is the largest cost of a refusal, which must be cheap. */
const overloaded = (why: ShedReason): RequestError =>
  getOrMake(refusals, why, () => overloadedError(refusalOnArrival(why)));
