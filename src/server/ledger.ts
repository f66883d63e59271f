import { type RequestError, retryLaterError } from '../engine/errors.ts';
import { noRoomFor } from '../engine/result.ts';

/** What a caller can hold of the process. */
export type Resource = 'requests' | 'arriving' | 'values' | 'unread';

/** How one resource is shared. */
interface Use {
  readonly unit: string;
  /** Where its total comes from, for the documentation. */
  readonly total: string;
  /** What one caller may hold, as a part of the total; a caller that holds little may take more at once. */
  readonly share: number;
  /** The part of the total that only callers that hold little can take. */
  readonly reserve: number;
  /** What gives way if the total is reached: of the caller that holds most. */
  readonly givesWay: string;
  /** How many times as much as the one that asks that caller has to hold. */
  readonly times: number;
  /** What has waited for so long is stalled, and gives way to an equal too, in milliseconds. */
  readonly stalledMs: number;
  readonly refusal: string;
}

const nothingDone =
  'bankql did nothing for this request; if it is a payment that you sent before, ask payment(idempotencyKey) what became of that before you pay under another key.';

/** All uses of the ledger. docs/hardening.md shows this table; a test compares the two. */
export const uses: Readonly<Record<Resource, Use>> = {
  requests: {
    unit: 'requests whose body has arrived and whose answer is not ready',
    total: '`MAX_IN_FLIGHT`',
    share: 1,
    reserve: 1 / 8,
    givesWay: 'the latest query',
    times: 1,
    stalledMs: Infinity,
    refusal: `bankql has too much to do. ${nothingDone}`,
  },
  arriving: {
    unit: 'bytes of requests that have not arrived completely, 2 kB for each request included',
    total: '1/16 of the heap, at most 64 MB',
    share: 1 / 4,
    reserve: 1 / 8,
    givesWay: 'the request that has been arriving longest',
    times: 1,
    stalledMs: 2000,
    refusal: `Too many requests are arriving. ${nothingDone}`,
  },
  values: {
    unit: 'values of answers that are being built, beyond the first 1,000 of each',
    total: '1/4 of the heap, at 128 bytes a value',
    share: 1 / 2,
    reserve: 1 / 8,
    givesWay: 'the largest query',
    times: 2,
    stalledMs: 10_000,
    refusal: noRoomFor.values,
  },
  unread: {
    unit: 'bytes of answers that clients have not read, 2 kB for each answer included',
    total: '`LIMIT_UNREAD_BYTES`',
    share: 1 / 8,
    reserve: 1 / 8,
    givesWay: 'the largest answer, with its connection',
    times: 2,
    stalledMs: 10_000,
    refusal: noRoomFor.unread,
  },
};

export const resources = Object.keys(uses) as Resource[];

/** What a request or an answer that waits takes beside its bytes: its objects and its part of a connection. */
export const overheadBytes = 2048;
/**
 * The memory that a value of an answer takes while it is built, in bytes: once built 25 to 60 in plain objects and 96 in those
 * without a prototype, and some more for what waits.
 */
export const valueBytes = 128;
/** Callers that would hold no more than this part of a share hold little. */
const littleShare = 1 / 8;

export interface LedgerLimits {
  /** The total of each resource. */
  readonly totals: Readonly<Record<Resource, number>>;
  /** How many requests one caller may have under way. */
  readonly requestsPerCaller: number;
  /** How late the event loop may be, in milliseconds. */
  readonly eventLoopLagMs: number;
}

/** Says that a request is refused, or ended, for this reason. */
export function overloaded(why: ShedReason): RequestError {
  const [resource] = resources.filter((name) => why.startsWith(name));
  return retryLaterError('OVERLOADED', uses[resource ?? 'requests'].refusal, 503, 1);
}

/** Limits that nothing reaches. */
export const unbounded: LedgerLimits = {
  totals: {
    requests: Number.MAX_SAFE_INTEGER,
    arriving: Number.MAX_SAFE_INTEGER,
    values: Number.MAX_SAFE_INTEGER,
    unread: Number.MAX_SAFE_INTEGER,
  },
  requestsPerCaller: Number.MAX_SAFE_INTEGER,
  eventLoopLagMs: Number.MAX_SAFE_INTEGER,
};

/** Why a request is refused. */
export type ShedReason = 'event loop lag' | Resource | `${Resource} of the caller`;

type Held = Record<Resource, number>;

/**
 * One caller: a verified subject, an identity in headers that a proxy vouches for, or a peer. An identity that nobody has
 * proven is one caller for each peer that claims it, so that nobody uses up what belongs to its real owner.
 */
export class Account {
  /** Accounts of one group give way together: those of a peer that claims many identities. */
  readonly group: string;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  /** Its place among the callers whose long operations take turns: see executor/scheduler.ts. */
  nextTurn = 0;

  constructor(group: string) {
    this.group = group;
  }
}

/** One request: what it holds. */
export interface Holder extends Held {
  account: Account;
  /** By performance.now(), when it began to hold what it holds now. */
  readonly since: number;
  /** Whether the work for it can be given up: that for a mutation cannot. */
  readonly canGiveWay: boolean;
  /** Ends it: nothing more is done for it, and all that it holds is released. */
  giveWay(resource: Resource): void;
}

/** How often the event loop's lag is measured, in milliseconds. */
const measureEveryMs = 100;

/**
 * Counts what callers hold of the process. There is a total of each resource, a share for each caller, and a reserve for
 * callers that hold little. If a total is reached, the caller that holds most gives way, not the one that comes last.
 *
 * A request that is answered calls three of its methods, and none of them creates an object.
 */
export class Ledger implements Held {
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  readonly #totals: Held;
  readonly #shares: Held;
  readonly #lagMs: number;
  readonly #onShed: (why: ShedReason) => void;
  /** Those that hold nothing are removed a few times a second: a Map that grows and shrinks all the time leaves tables behind. */
  readonly #accounts = new Map<string, Account>();
  readonly #timer: NodeJS.Timeout;
  #isLate = false;
  /** All requests that hold anything; asked only if a total is reached. */
  holders: () => Iterable<Holder> = () => [];

  constructor(
    { totals, requestsPerCaller, eventLoopLagMs }: LedgerLimits,
    onShed: (why: ShedReason) => void = () => {},
  ) {
    this.#totals = { ...totals };
    this.#shares = { ...totals };
    for (const resource of resources)
      this.#shares[resource] = Math.ceil(totals[resource] * uses[resource].share);
    this.#shares.requests = requestsPerCaller;
    this.#lagMs = eventLoopLagMs;
    this.#onShed = onShed;
    let expected = performance.now() + measureEveryMs;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#isLate = now - expected > this.#lagMs;
      expected = now + measureEveryMs;
      for (const [name, account] of this.#accounts)
        if (resources.every((resource) => account[resource] === 0)) this.#accounts.delete(name);
    }, measureEveryMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The account of a caller. `group` is its peer if nobody has proven the name. */
  account(name: string, group: string = name): Account {
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = new Account(group);
      this.#accounts.set(name, account);
    }
    return account;
  }

  /** Whether a request of a caller that holds nothing would be accepted. */
  get hasRoom(): boolean {
    const { requests, unread } = this.#totals;
    return !this.#isLate && this.requests < requests && this.unread < unread;
  }

  /** Takes a slot, with which the work for a request begins; returns why there is none, if there is none. */
  admit(holder: Holder): ShedReason | null {
    const { account } = holder;
    if (this.#isLate && (account.requests > 0 || this.requests >= this.#reserveOf('requests')))
      return this.#refuse('event loop lag');
    if (account.unread >= this.#shares.unread) return this.#refuse('unread of the caller');
    if (this.unread >= this.#totals.unread && !this.#findRoom(account, 'unread', 0))
      return this.#refuse('unread');
    return this.take(holder, 'requests', 1);
  }

  /** Takes so much more of a resource; returns why that cannot be, if it cannot. */
  take(holder: Holder, resource: Resource, amount: number): ShedReason | null {
    const { account } = holder;
    const held = account[resource];
    const wanted = held + amount;
    if (held > this.#shares[resource] * littleShare && wanted > this.#shares[resource])
      return this.#refuse(`${resource} of the caller`);
    if (
      this[resource] + amount > this.#totals[resource] - this.#reserveOf(resource) &&
      !this.#findRoom(account, resource, amount)
    )
      return this.#refuse(resource);
    this.add(holder, resource, amount);
    return null;
  }

  /** Counts what is there already, or what is given back if it is negative. */
  add(holder: Holder, resource: Resource, amount: number): void {
    holder[resource] += amount;
    holder.account[resource] += amount;
    this[resource] += amount;
  }

  /** Gives back all that a request holds. */
  releaseAll(holder: Holder): void {
    const { account, requests, arriving, values, unread } = holder;
    this.requests -= requests;
    this.arriving -= arriving;
    this.values -= values;
    this.unread -= unread;
    account.requests -= requests;
    account.arriving -= arriving;
    account.values -= values;
    account.unread -= unread;
    holder.requests = holder.arriving = holder.values = holder.unread = 0;
  }

  /** Its answer is ready, and so long: it waits for its client from now on. */
  ready(holder: Holder, bytes: number): void {
    this.releaseAll(holder);
    this.add(holder, 'unread', bytes + overheadBytes);
  }

  #refuse(why: ShedReason): ShedReason {
    this.#onShed(why);
    return why;
  }

  #reserveOf(resource: Resource): number {
    return Math.floor(this.#totals[resource] * uses[resource].reserve);
  }

  /** Whether there is room beyond what all callers may take: in the reserve, or because larger holders give way. */
  #findRoom(account: Account, resource: Resource, amount: number): boolean {
    const total = this.#totals[resource];
    const holdsLittle =
      account[resource] === 0 || account[resource] + amount <= this.#shares[resource] * littleShare;
    const most = holdsLittle ? total : total - this.#reserveOf(resource);
    while (this[resource] + amount > most) {
      const largest = this.#largest(account, resource, amount);
      if (largest === null) return false;
      largest.giveWay(resource);
      // Whoever gives way says what became of it; here it must not be found again.
      this.releaseAll(largest);
    }
    return true;
  }

  /**
   * The request that gives way to one that takes so much more: one of the account that holds most, in the group that holds
   * most. Null if nobody holds more than the caller that asks would, or twice as much if what gives way has to be done again;
   * what is stalled gives way to an equal too.
   */
  #largest(asking: Account, resource: Resource, amount: number): Holder | null {
    const groups = new Map<string, number>();
    for (const { group, [resource]: held } of this.#accounts.values())
      groups.set(group, (groups.get(group) ?? 0) + held);
    const heldBy = ({ group, [resource]: held }: Account, rival: Account): number =>
      group === rival.group ? held : (groups.get(group) ?? 0);
    const { stalledMs, times } = uses[resource];
    const stalledSince = performance.now() - stalledMs;
    let largest: Holder | null = null;
    for (const holder of this.holders()) {
      const { account } = holder;
      if (holder[resource] === 0 || account === asking) continue;
      // What only waits can always be ended.
      if (!holder.canGiveWay && (resource === 'requests' || resource === 'values')) continue;
      const [holds, wouldHold] = [heldBy(account, asking), heldBy(asking, account) + amount];
      if (holder.since < stalledSince ? holds < wouldHold : holds <= wouldHold * times) continue;
      if (largest === null) {
        largest = holder;
        continue;
      }
      const rival = largest.account;
      const more = heldBy(account, rival) - heldBy(rival, account);
      if (more > 0 || (more === 0 && this.#givesWayFirst(holder, largest, resource))) largest = holder;
    }
    return largest;
  }

  /** Whether the first of two requests of callers that hold the same gives way. */
  #givesWayFirst(one: Holder, other: Holder, resource: Resource): boolean {
    if (resource === 'requests') return one.since > other.since;
    if (resource === 'arriving' || one[resource] === other[resource]) return one.since < other.since;
    return one[resource] > other[resource];
  }
}
