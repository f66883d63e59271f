import { type Caller, Callers, nobody } from './callers.ts';

/** The resources of the process that a caller's requests use, counted by Capacity below. */
const counted = ['requests', 'arriving', 'values', 'unread'] as const;
export type Counted = (typeof counted)[number];
/** All resources. The last two are counted in other files: http/connection.ts and bank/gate.ts. */
export type Resource = Counted | 'sockets' | 'connections';

/** The memory of a value while its answer is built, in bytes: 25 to 96 for the value itself, and some for waiting work. */
export const valueBytes = 128;
/** The memory of a parsed bank answer, as a multiple of its bytes: 1.7 for usual records, and 4.5 for the shortest. */
export const parsedTimes = 5;
/** The memory of a waiting request or answer in addition to its bytes: its objects, and what its connection uses. */
export const overheadBytes = 2048;
/**
 * `reserve`: the part of each total that is reserved for small callers. `little`: the part of its cap up to which a
 * caller is small.
 */
const reserve = 1 / 8;
const little = 1 / 8;

/** The caps: the part of a resource's total that one caller may use at most. The cap of requests is a separate limit. */
export const uses = {
  arriving: { cap: 1 / 4 },
  values: { cap: 1 / 2 },
  unread: { cap: 1 / 8 },
  connections: { cap: 1 / 2 },
} as const;

export const resources: readonly Resource[] = [...counted, 'sockets', 'connections'];

export interface CapacityLimits {
  readonly totals: Readonly<Record<Resource, number>>;
  readonly requestsPerCaller: number;
}

/** Limits that are never reached. */
const most = Number.MAX_SAFE_INTEGER;
export const unbounded: CapacityLimits = {
  totals: {
    requests: most,
    arriving: most,
    values: most,
    unread: most,
    sockets: most,
    connections: most,
  },
  requestsPerCaller: most,
};

/**
 * Why a request, or one of its REST calls, is refused: all callers, this caller, or the unverified callers of its network address
 * use too much.
 */
export type ShedReason = Resource | `${Counted} of the caller` | `${Counted} of the peer`;

export const shedReasons: readonly ShedReason[] = [
  ...resources,
  ...counted.flatMap((resource): ShedReason[] => [`${resource} of the caller`, `${resource} of the peer`]),
];

const nothingDone =
  'bankql did nothing for this request; if it is a payment, repeat it with the same key, never under another one.';

/** The messages of OVERLOADED. A mutation is refused only before it begins, so "Nothing was changed" is always true. */
export const refusals = {
  requests: `bankql has too much to do. ${nothingDone}`,
  caller: `Too many of your requests are in progress. ${nothingDone}`,
  arriving: `Too many requests are arriving. ${nothingDone}`,
  values: 'Too many large answers are being built, and this one is large. Nothing was changed.',
  unread: 'Clients have left too much of other answers unread, and this one is long. Nothing was changed.',
  unreadOfCaller: `You have left too much of earlier answers unread. ${nothingDone}`,
  connections: 'no connection became free in time',
} as const;

/** The message for a request that is refused before any work is done for it. */
export function refusalOnArrival(why: ShedReason): string {
  if (why === 'requests of the caller') return refusals.caller;
  if (why === 'unread of the caller') return refusals.unreadOfCaller;
  return why.startsWith('arriving') ? refusals.arriving : refusals.requests;
}

type Held = Record<Counted, number>;

/** The resources that one request uses. */
export interface Holder extends Held {
  caller: Caller;
  /**
   * Whether the request is a mutation. Its values and unread bytes are counted but never refused, since its own limits bound
   * them.
   */
  readonly isMutation: boolean;
}

/**
 * Counts the resources of the process that callers use. A caller may use all free resources, up to its cap. The last eighth of
 * each total is reserved for callers that use little. The unverified callers of one network address together use at most half. An
 * admitted request is never ended in favour of another one.
 */
export class Capacity implements Held {
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  /** The number of connected clients; counted by http/connection.ts. */
  sockets = 0;
  readonly totals: CapacityLimits['totals'];
  readonly callers: Callers;
  readonly #caps: Held;
  readonly #onShed: (why: ShedReason) => void;

  constructor(
    { totals, requestsPerCaller }: CapacityLimits,
    onShed: (why: ShedReason) => void = () => {},
    callers = new Callers(),
  ) {
    const capOf = (resource: 'arriving' | 'values' | 'unread') =>
      Math.ceil(totals[resource] * uses[resource].cap);
    this.totals = totals;
    this.callers = callers;
    this.#caps = {
      requests: requestsPerCaller,
      arriving: capOf('arriving'),
      values: capOf('values'),
      unread: capOf('unread'),
    };
    this.#onShed = onShed;
  }

  /** Counts a request for this caller from now on. What the request used before is released. */
  assign(holder: Holder, caller: Caller): void {
    this.leave(holder);
    caller.holders++;
    holder.caller = caller;
  }

  /** Releases all resources of a request that has ended. */
  leave(holder: Holder): void {
    const { caller } = holder;
    this.release(holder);
    if (caller === nobody) return;
    caller.holders--;
    holder.caller = nobody;
  }

  /** Takes a slot for a request that has arrived. Returns the reason if it is refused, null otherwise. */
  admit(holder: Holder): ShedReason | null {
    const { caller, arriving } = holder;
    if (arriving > 0) this.add(holder, 'arriving', -arriving);
    if (caller.unread >= this.#caps.unread) return this.refuse('unread of the caller');
    if (this.unread >= this.totals.unread) return this.refuse('unread');
    return this.take(holder, 'requests', 1);
  }

  /**
   * Takes more of a resource. Returns the reason if it is refused, null otherwise. A caller that uses little may exceed its cap
   * once.
   */
  take(holder: Holder, resource: Counted, amount: number): ShedReason | null {
    const isExempt = holder.isMutation && (resource === 'values' || resource === 'unread');
    const why = isExempt ? null : this.#whyNot(holder.caller, resource, amount);
    if (why !== null) return this.refuse(why);
    this.add(holder, resource, amount);
    return null;
  }

  #whyNot(caller: Caller, resource: Counted, amount: number): ShedReason | null {
    const total = this.totals[resource];
    const cap = this.#caps[resource];
    const hasLittle = ({ [resource]: held }: Held, most: number) => held === 0 || held < most * little;
    const { peer } = caller;
    const isSmall = hasLittle(caller, cap);
    if (!isSmall && caller[resource] + amount > cap) return `${resource} of the caller`;
    if (peer !== null && !hasLittle(peer, total / 2) && peer[resource] + amount > total / 2)
      return `${resource} of the peer`;
    const most = isSmall ? total : total - Math.floor(total * reserve);
    return this[resource] + amount > most ? resource : null;
  }

  /** Reports a refusal. */
  refuse(why: ShedReason): ShedReason {
    this.#onShed(why);
    return why;
  }

  /** Counts an amount that is in use already; a negative amount is released. */
  add(holder: Holder, resource: Counted, amount: number): void {
    const { caller } = holder;
    holder[resource] += amount;
    caller[resource] += amount;
    if (caller.peer !== null) caller.peer[resource] += amount;
    this[resource] += amount;
  }

  /** Releases all resources of a request, except `unread` bytes of its answer, which wait for the client. */
  release(holder: Holder, unread = 0): void {
    for (const resource of counted) {
      const more = (resource === 'unread' ? unread : 0) - holder[resource];
      if (more !== 0) this.add(holder, resource, more);
    }
  }
}
