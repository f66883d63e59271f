import { hash } from 'node:crypto';

/** What tells one caller from another. */
export interface Identity {
  /** Different for each caller, and for each way in which a caller proves who it is. */
  readonly name: string;
  /** The name, if it is proven; otherwise the name of the peer that claims it. */
  readonly group: string;
}

/** How many calls of a caller are in progress, and how many wait. */
interface CountedCalls {
  readonly taken: number;
  readonly waiting: number;
}

/**
 * One caller, as it is counted: a verified subject, an identity in headers that a proxy vouches for, or the credentials that a peer
 * claims. The unproven callers of one peer are counted together too. It is kept between requests, and leads to no credential and no
 * operation. A request finds it once; capacity, the gates to the bank, slices and the rate limit count it.
 */
export class Caller {
  readonly name: string;
  /** The peer of an unproven caller; null for a proven one, for the peer itself and for a request without credentials. */
  readonly peer: Caller | null;
  /** How many open requests are counted here. */
  holders = 0;
  /** Its calls at the gates to the bank, each of which adds its own count (bank/gate.ts). */
  readonly calls: CountedCalls[] = [];
  /** What its requests use of the process: see capacity.ts. */
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  #hash: string | null = null;

  constructor(name: string, peer: Caller | null = null) {
    this.name = name;
    this.peer = peer;
  }

  /** The name, for others to know it by: the name itself may contain a credential. */
  get hash(): string {
    this.#hash ??= hash('sha256', this.name, 'base64');
    return this.#hash;
  }

  /** Whether it has no request and no call. */
  get isIdle(): boolean {
    return this.holders === 0 && this.calls.every(({ taken, waiting }) => taken + waiting === 0);
  }
}

/** The caller of a request until it is known. */
export const nobody = new Caller('');

/** How many idle callers stay known. */
const maxIdle = 1000;

/** The callers that are known, each as one object. */
export class Callers {
  readonly #callers = new Map<string, Caller>();
  readonly #peers = new Map<string, Caller>();
  #forgetAt = maxIdle;

  /** The caller of this name. It may be forgotten while it is idle. */
  find({ name, group }: Identity): Caller {
    return this.#callers.get(name) ?? this.#add(name, group);
  }

  #add(name: string, group: string): Caller {
    if (this.#callers.size >= this.#forgetAt) this.#forgetIdle();
    const caller = new Caller(name, name === group ? null : this.#peerOf(group));
    this.#callers.set(name, caller);
    return caller;
  }

  #peerOf(group: string): Caller {
    const peer = this.#peers.get(group) ?? new Caller(group);
    this.#peers.set(group, peer);
    return peer;
  }

  /** Not called for each request: a Map that grows and shrinks all the time leaves garbage behind. */
  #forgetIdle(): void {
    for (const [name, caller] of this.#callers) if (caller.isIdle) this.#callers.delete(name);
    const peers = new Set(Array.from(this.#callers.values(), ({ peer }) => peer));
    for (const [name, peer] of this.#peers) if (!peers.has(peer)) this.#peers.delete(name);
    this.#forgetAt = Math.max(maxIdle, 2 * this.#callers.size);
  }
}
