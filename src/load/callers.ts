import { hash } from 'node:crypto';

/** The values that distinguish callers. */
export interface Identity {
  /** A name that is different for each caller, and for each way in which a caller is identified. */
  readonly name: string;
  /**
   * The name of the group: a verified caller's own name; otherwise, that of the network address that sent the
   * credentials.
   */
  readonly group: string;
}

/** The number of a caller's calls in progress, and of those that wait. */
interface CountedCalls {
  readonly taken: number;
  readonly waiting: number;
}

/**
 * The counters of one caller. A caller is a verified subject, an identity in headers that a trusted proxy sets, or unverified
 * credentials together with the network address that sent them. All unverified callers of one address are also counted together.
 * The object is kept between requests, and refers to no credential and no operation. A request finds it once; capacity, the gates
 * to the bank, time slices and the rate limit use it.
 */
export class Caller {
  readonly name: string;
  /**
   * The network address of an unverified caller; null for a verified caller, for the address itself and for a request without
   * credentials.
   */
  readonly peer: Caller | null;
  /** The number of requests that are counted for this caller. */
  holders = 0;
  /** The caller's calls at the gates to the bank. Each gate adds its own count (bank/gate.ts). */
  readonly calls: CountedCalls[] = [];
  /** The resources that the caller's requests use: see capacity.ts. */
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  #hash: string | null = null;

  constructor(name: string, peer: Caller | null = null) {
    this.name = name;
    this.peer = peer;
  }

  /** A hash of the name for use outside of this object, because the name may contain a credential. */
  get hash(): string {
    this.#hash ??= hash('sha256', this.name, 'base64');
    return this.#hash;
  }

  /** Whether the caller has no request and no call. */
  get isIdle(): boolean {
    return this.holders === 0 && this.calls.every(({ taken, waiting }) => taken + waiting === 0);
  }
}

/** The caller of a request before its identity is known. */
export const nobody = new Caller('');

/** The maximum number of idle callers that are kept. */
const maxIdle = 1000;

/** The known callers. Each caller is one object. */
export class Callers {
  readonly #callers = new Map<string, Caller>();
  readonly #peers = new Map<string, Caller>();
  #forgetAt = maxIdle;

  /** The caller with this name. It may be forgotten while it is idle. */
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

  /**
   * Forgets the idle callers. It is not called for each request, because a Map that grows and shrinks all the time
   * creates garbage.
   */
  #forgetIdle(): void {
    for (const [name, caller] of this.#callers) if (caller.isIdle) this.#callers.delete(name);
    const peers = new Set(Array.from(this.#callers.values(), ({ peer }) => peer));
    for (const [name, peer] of this.#peers) if (!peers.has(peer)) this.#peers.delete(name);
    this.#forgetAt = Math.max(maxIdle, 2 * this.#callers.size);
  }
}
