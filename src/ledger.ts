import { getHeapStatistics } from 'node:v8';
import { getOrMake } from './get-or-make.ts';

/** The resources of the process that a caller can hold; counted by the Ledger below. */
const counted = ['requests', 'arriving', 'values', 'unread'] as const;
export type Counted = (typeof counted)[number];
/** Other files count the rest: server/connection.ts and bank/gate.ts. */
export type Resource = Counted | 'sockets' | 'connections';

const megabyte = 1024 * 1024;
/**
 * The memory that a value of an answer takes while it is built, in bytes: once built 25 to 60 in plain objects and 96 in those
 * without a prototype, and some more for what waits.
 */
export const valueBytes = 128;
/** A parsed answer of the bank takes about so many times the memory of its bytes: 1.7 times for usual records, 4.5 for the shortest. */
export const parsedTimes = 3;
/** The memory that a waiting request or answer takes in addition to its bytes: its objects and its part of a connection. */
export const overheadBytes = 2048;
/** Callers that would hold no more than this part of a share hold little. */
export const littleShare = 1 / 8;

/** How one resource is shared. */
interface Use {
  readonly unit: string;
  /** The variable that sets its total, for all workers together; null if nothing but the heap does. */
  readonly variable: 'MAX_IN_FLIGHT' | 'LIMIT_UNREAD_BYTES' | 'BANK_CONNECTIONS' | null;
  /**
   * Its total without a variable, or the variable's default: a part of the heap, and at most so many megabytes, in units of so
   * many bytes. Null if that is a constant.
   */
  readonly heap: { readonly part: number; readonly mostMegabytes: number; readonly unitBytes: number } | null;
  /** Its total, for the documentation. */
  readonly total: string;
  /**
   * The share of one caller: a part of the total (a caller that holds little may take more at once), a variable or a number.
   */
  readonly share: number | 'MAX_IN_FLIGHT_PER_CALLER' | { readonly most: number; readonly per: string };
  /** The part of the total that only callers that hold little can take. */
  readonly reserve: number;
  /** The work that gives way if the total is reached: that of the caller that holds most. */
  readonly givesWay: string;
  /** How many times as much as the one that asks that caller has to hold. */
  readonly times: number;
  /** Work that has waited for so many milliseconds is stalled, and gives way to an equal too. */
  readonly stalledMs: number;
  /** The message of OVERLOADED. */
  readonly refusal: string;
  /** What can be used up: the total, the caller's share, or both. */
  readonly refuses: readonly ('total' | 'share')[];
}

const nothingDone =
  'bankql did nothing for this request; if it is a payment, repeat it with the same key, never under another one.';

/**
 * All that a caller can hold. `npm run configuration` writes this table into docs/hardening.md, and the configuration and the
 * metrics are made from it.
 */
export const uses = {
  requests: {
    unit: 'requests that are complete and not yet answered',
    variable: 'MAX_IN_FLIGHT',
    heap: { part: 1, mostMegabytes: 1000, unitBytes: megabyte },
    total: '`MAX_IN_FLIGHT`',
    share: 'MAX_IN_FLIGHT_PER_CALLER',
    reserve: 1 / 8,
    givesWay: 'the latest request',
    times: 1,
    stalledMs: Infinity,
    refusal: `bankql has too much to do. ${nothingDone}`,
    refuses: ['total', 'share'],
  },
  arriving: {
    unit: 'bytes of requests that are incomplete or wait for an earlier one of their connection, plus 2 kB for each of them, or more if it has many headers',
    variable: null,
    heap: { part: 1 / 16, mostMegabytes: 64, unitBytes: 1 },
    total: '1/16 of the heap, at most 64 MB',
    share: 1 / 4,
    reserve: 1 / 8,
    givesWay: 'the request that has been arriving longest',
    times: 1,
    stalledMs: 2000,
    refusal: `Too many requests are arriving. ${nothingDone}`,
    refuses: ['total', 'share'],
  },
  values: {
    unit: `values of unfinished answers, and one for every ${Math.round(valueBytes / parsedTimes)} bytes that they have read from the bank and the payment store; of both, the first 1,000 of an answer do not count`,
    variable: null,
    heap: { part: 1 / 4, mostMegabytes: 4096, unitBytes: valueBytes },
    total: `1/4 of the heap, at ${valueBytes} bytes a value`,
    share: 1 / 2,
    reserve: 1 / 8,
    givesWay: 'the largest request',
    times: 2,
    stalledMs: 10_000,
    refusal:
      'Too many large answers are being built, and this one is large. What the request changed stands.',
    refuses: ['total', 'share'],
  },
  unread: {
    unit: 'bytes of answers that clients have not read, plus 2 kB for each answer',
    variable: 'LIMIT_UNREAD_BYTES',
    heap: { part: 1 / 8, mostMegabytes: 256, unitBytes: 1 },
    total: '`LIMIT_UNREAD_BYTES`',
    share: 1 / 8,
    reserve: 1 / 8,
    givesWay: 'the largest answer, with its connection',
    times: 2,
    stalledMs: 10_000,
    refusal:
      'Clients have left too much of other answers unread, and this one is long. What the request changed stands.',
    refuses: ['total', 'share'],
  },
  sockets: {
    unit: 'connections of clients',
    variable: null,
    heap: { part: 1, mostMegabytes: 2048, unitBytes: 128 * 1024 },
    total: 'one for each 128 kB of the heap',
    share: 1,
    reserve: 0,
    givesWay:
      'the connection that was refused longest ago, or the oldest of the address that has most, and there of the caller: an idle one, or else one whose client has to send or read more',
    times: 1,
    stalledMs: Infinity,
    refusal: 'the connection is closed',
    refuses: ['total'],
  },
  connections: {
    unit: 'REST calls under way; reads and writes are counted separately',
    variable: 'BANK_CONNECTIONS',
    heap: null,
    total: '`BANK_CONNECTIONS`',
    share: 1 / 2,
    reserve: 0,
    givesWay: 'nothing: callers that wait are served in turn',
    times: 1,
    stalledMs: Infinity,
    refusal: 'no connection became free in time',
    refuses: ['total'],
  },
} as const satisfies Record<Resource, Use>;

export const resources = Object.keys(uses) as Resource[];

/** What a heap of so many bytes, this process's own if left out, gives of a resource. */
export function heapTotal(resource: Resource, heapBytes = getHeapStatistics().heap_size_limit): number {
  const { heap } = uses[resource];
  if (heap === null) return Number.POSITIVE_INFINITY;
  return Math.floor(Math.min(heap.part * heapBytes, heap.mostMegabytes * megabyte) / heap.unitBytes);
}

export interface LedgerLimits {
  /** The total of each resource. */
  readonly totals: Readonly<Record<Resource, number>>;
  /** How many requests one caller may have under way. */
  readonly requestsPerCaller: number;
  /** How late the event loop may be, in milliseconds. */
  readonly eventLoopLagMs: number;
}

/** Limits that nothing reaches. */
export const unbounded: LedgerLimits = {
  totals: Object.fromEntries(
    resources.map((resource) => [resource, Number.MAX_SAFE_INTEGER]),
  ) as LedgerLimits['totals'],
  requestsPerCaller: Number.MAX_SAFE_INTEGER,
  eventLoopLagMs: Number.MAX_SAFE_INTEGER,
};

/** Why a request, or a REST call of one, is refused. */
export type ShedReason = 'event loop lag' | Resource | `${Resource} of the caller`;

export const shedReasons: readonly ShedReason[] = [
  'event loop lag',
  ...resources.flatMap((resource) =>
    uses[resource].refuses.map(
      (what): ShedReason => (what === 'total' ? resource : `${resource} of the caller`),
    ),
  ),
];

/** The message with which a request is refused before any work is done for it. */
export function refusalOnArrival(why: ShedReason): string {
  if (why === 'requests of the caller') return `Too many of your requests are in progress. ${nothingDone}`;
  if (why === 'unread of the caller')
    return `You have left too much of earlier answers unread. ${nothingDone}`;
  return uses[why.startsWith('arriving') ? 'arriving' : 'requests'].refusal;
}

type Held = Record<Counted, number>;

/** Callers that give way together: those of a peer that claims many identities, or one whose identity is proven. */
interface Group extends Held {
  readonly name: string;
}

/**
 * One caller: a verified subject, an identity in headers that a proxy vouches for, or a peer. An identity that nobody has
 * proven is one caller for each peer that claims it, so that nobody uses up what belongs to its real owner.
 */
export class Account {
  readonly name: string;
  readonly group: Group;
  /** Whether the ledger knows it: it forgets those that hold nothing. */
  isListed = true;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  /** The first of its requests that hold anything: they are a list, so that nobody else's are looked at to find them. */
  first: Holder | null = null;

  constructor(name: string, group: Group) {
    this.name = name;
    this.group = group;
  }
}

/** One request: what it holds. */
export interface Holder extends Held {
  account: Account;
  /** By performance.now(), when it began to hold what it holds now. */
  readonly since: number;
  /** Whether the work for it can be given up: not once a mutation has begun to write or pay. */
  readonly canGiveWay: boolean;
  /** Its neighbours in its account's list, and whether it is there. Set by the Ledger only. */
  previous: Holder | null;
  next: Holder | null;
  isListed: boolean;
  /** Ends it: nothing more is done for it, and all that it holds is released. */
  giveWay(resource: Counted): void;
}

const holdsAnything = ({ requests, arriving, values, unread }: Held): boolean =>
  requests + arriving + values + unread > 0;

/** How often the event loop's lag is measured, in milliseconds, and after how many times idle accounts are removed. */
const measureEveryMs = 100;
const sweepEvery = 10;

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
  /** How many clients are connected, and how many may be. */
  sockets = 0;
  readonly maxSockets: number;
  readonly #totals: Held;
  /** What is left of the totals without the reserves. */
  readonly #open: Held;
  readonly #shares: Held;
  readonly #lagMs: number;
  readonly #onShed: (why: ShedReason) => void;
  /** Those that hold nothing are removed once a second: a Map that grows and shrinks all the time leaves tables behind. */
  readonly #accounts = new Map<string, Account>();
  readonly #groups = new Map<string, Group>();
  readonly #timer: NodeJS.Timeout;
  #isLate = false;
  /** How many requests of callers without another one are accepted until the lag is measured next, while it is too long. */
  #lateLeft = 0;

  constructor(
    { totals, requestsPerCaller, eventLoopLagMs }: LedgerLimits,
    onShed: (why: ShedReason) => void = () => {},
  ) {
    this.#totals = { ...totals };
    this.#open = { ...totals };
    this.#shares = { ...totals };
    for (const resource of counted) {
      const { reserve, share } = uses[resource];
      this.#open[resource] -= Math.floor(totals[resource] * reserve);
      this.#shares[resource] =
        typeof share === 'number' ? Math.ceil(totals[resource] * share) : requestsPerCaller;
    }
    this.maxSockets = totals.sockets;
    this.#lagMs = eventLoopLagMs;
    this.#onShed = onShed;
    let expected = performance.now() + measureEveryMs;
    let measured = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#isLate = now - expected > this.#lagMs;
      this.#lateLeft = this.#totals.requests - this.#open.requests;
      expected = now + measureEveryMs;
      if (++measured % sweepEvery === 0) this.#removeIdle();
    }, measureEveryMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The account of a caller. `group` is its peer if nobody has proven the name. */
  account(name: string, group: string = name): Account {
    const held = () =>
      getOrMake(this.#groups, group, () => ({ name: group, requests: 0, arriving: 0, values: 0, unread: 0 }));
    return getOrMake(this.#accounts, name, () => new Account(name, held()));
  }

  #removeIdle(): void {
    for (const account of this.#accounts.values()) {
      if (holdsAnything(account)) continue;
      account.isListed = false;
      this.#accounts.delete(account.name);
    }
    for (const [name, group] of this.#groups) if (!holdsAnything(group)) this.#groups.delete(name);
  }

  /** Whether a request of a caller that holds nothing would be accepted. */
  get hasRoom(): boolean {
    const { requests, unread } = this.#totals;
    return !this.#isLate && this.requests < requests && this.unread < unread;
  }

  /** A request has arrived; takes a slot, with which the work for it begins, or returns the reason for refusing it. */
  admit(holder: Holder): ShedReason | null {
    const { account, arriving } = holder;
    this.arriving -= arriving;
    account.arriving -= arriving;
    account.group.arriving -= arriving;
    holder.arriving = 0;
    if (account.unread >= this.#shares.unread) return this.#refuse('unread of the caller');
    const isTooMuch = this.#isLate && (account.requests > 0 || this.#lateLeft-- <= 0);
    if (isTooMuch && !this.#makeRoom(account, 'requests', 1)) return this.#refuse('event loop lag');
    if (this.unread >= this.#totals.unread && !this.#findRoom(account, 'unread', 0))
      return this.#refuse('unread');
    // The usual case, without another call.
    if (account.requests >= this.#shares.requests || this.requests >= this.#open.requests)
      return this.take(holder, 'requests', 1);
    holder.requests++;
    account.requests++;
    account.group.requests++;
    this.requests++;
    if (!holder.isListed) this.#list(holder);
    return null;
  }

  /** Takes so much more of a resource; returns why that cannot be, if it cannot. */
  take(holder: Holder, resource: Counted, amount: number): ShedReason | null {
    const { account } = holder;
    const held = account[resource];
    const wanted = held + amount;
    if (held > this.#shares[resource] * littleShare && wanted > this.#shares[resource])
      return this.#refuse(`${resource} of the caller`);
    if (this[resource] + amount > this.#open[resource] && !this.#findRoom(account, resource, amount))
      return this.#refuse(resource);
    this.add(holder, resource, amount);
    return null;
  }

  /** Counts what is there already, or what is given back if it is negative. */
  add(holder: Holder, resource: Counted, amount: number): void {
    const { account } = holder;
    holder[resource] += amount;
    account[resource] += amount;
    account.group[resource] += amount;
    this[resource] += amount;
    if (!holder.isListed) this.#list(holder);
  }

  #list(holder: Holder): void {
    const { account } = holder;
    holder.next = account.first;
    if (account.first !== null) account.first.previous = holder;
    account.first = holder;
    holder.isListed = true;
  }

  /** Gives back all that a request holds; of its answer, if it is ready, so many bytes wait for the client from now on. */
  release(holder: Holder, answerBytes: number | null = null): void {
    const { account, requests, arriving, values } = holder;
    const unread = answerBytes === null ? 0 : answerBytes + overheadBytes;
    const more = unread - holder.unread;
    this.requests -= requests;
    this.arriving -= arriving;
    this.values -= values;
    this.unread += more;
    account.requests -= requests;
    account.arriving -= arriving;
    account.values -= values;
    account.unread += more;
    const { group } = account;
    group.requests -= requests;
    group.arriving -= arriving;
    group.values -= values;
    group.unread += more;
    holder.requests = holder.arriving = holder.values = 0;
    holder.unread = unread;
    if (unread > 0) {
      if (!holder.isListed) this.#list(holder);
    } else if (holder.isListed) {
      const { previous, next } = holder;
      if (previous === null) account.first = next;
      else previous.next = next;
      if (next !== null) next.previous = previous;
      holder.previous = holder.next = null;
      holder.isListed = false;
    }
  }

  /** A connection is closed, so that another client can connect. */
  refuseSocket(): void {
    this.#refuse('sockets');
  }

  #refuse(why: ShedReason): ShedReason {
    this.#onShed(why);
    return why;
  }

  /** Whether there is room beyond what all callers may take: in the reserve, or because larger holders give way. */
  #findRoom(account: Account, resource: Counted, amount: number): boolean {
    const total = this.#totals[resource];
    const holdsLittle =
      account[resource] === 0 || account[resource] + amount <= this.#shares[resource] * littleShare;
    const most = holdsLittle ? total : this.#open[resource];
    while (this[resource] + amount > most) if (!this.#makeRoom(account, resource, amount)) return false;
    return true;
  }

  /** Whether a larger holder gives way. */
  #makeRoom(account: Account, resource: Counted, amount: number): boolean {
    const largest = this.#largest(account, resource, amount);
    if (largest === null) return false;
    largest.giveWay(resource);
    // The request that gives way reports what became of it; it must not be found here again.
    this.release(largest);
    return true;
  }

  /**
   * The request that gives way to one that takes so much more: one of the account that holds most, in the group that holds
   * most. Null if nobody holds more than the caller that asks would, or twice as much if what gives way has to be done again;
   * what is stalled gives way to an equal too.
   */
  #largest(asking: Account, resource: Counted, amount: number): Holder | null {
    const heldBy = (account: Account, rival: Account): number =>
      account.group === rival.group ? account[resource] : account.group[resource];
    const { stalledMs, times } = uses[resource];
    const stalledSince = performance.now() - stalledMs;
    let largest: Holder | null = null;
    for (const account of this.#accounts.values()) {
      if (account[resource] === 0 || account === asking) continue;
      const [holds, wouldHold] = [heldBy(account, asking), heldBy(asking, account) + amount];
      // Nearly all refusals end here: the requests of a caller that holds too little are not looked at.
      const isLarger = holds > wouldHold * times;
      if (!isLarger && (stalledMs === Infinity || holds < wouldHold)) continue;
      if (largest !== null && heldBy(account, largest.account) < heldBy(largest.account, account)) continue;
      for (let holder = account.first; holder !== null; holder = holder.next) {
        if (holder[resource] === 0) continue;
        // What only waits can always be ended.
        if (!holder.canGiveWay && (resource === 'requests' || resource === 'values')) continue;
        if (!isLarger && holder.since >= stalledSince) continue;
        if (largest !== null) {
          const rival = largest.account;
          const more = heldBy(account, rival) - heldBy(rival, account);
          if (more < 0 || (more === 0 && !this.#givesWayFirst(holder, largest, resource))) continue;
        }
        largest = holder;
      }
    }
    return largest;
  }

  /** Whether the first of two requests of callers that hold the same gives way. */
  #givesWayFirst(one: Holder, other: Holder, resource: Counted): boolean {
    if (resource === 'requests') return one.since > other.since;
    if (resource === 'arriving' || one[resource] === other[resource]) return one.since < other.since;
    return one[resource] > other[resource];
  }
}
