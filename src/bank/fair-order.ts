import { LinkedList, type ListNode } from './linked-list.ts';

/**
 * One that was served counts as at most so many turns ahead of virtual time. While one that is behind all others cannot be served,
 * virtual time stands still, and those that begin to wait then would otherwise go before all others until they have caught up.
 */
const mostAhead = 32;

/** One that waits and takes turns with others. */
export class FairMember {
  readonly id: string;
  /** The virtual time at which it has used up its share so far. */
  served = 0;
  /** The same, or less if it goes before all others: the lowest is next. */
  rank = 0;
  position: ListNode<this> | null = null;
  /** Its position among the newcomers that go first later; null if it does not wait for that. */
  deferred: ListNode<this> | null = null;

  constructor(id: string) {
    this.id = id;
  }
}

/**
 * Whose turn it is among those that wait (fair queueing by virtual time): virtual time advances by one while each of them is
 * served once, and the one that is the furthest behind is next. One that begins to wait counts as if it had always waited and
 * used its share up to now, plus what it holds. Its turns are remembered until virtual time has passed them. A newcomer,
 * which was served nothing lately and holds nothing, goes first, however many wait; but between two newcomers another one is
 * served, so that many newcomers do not starve those that wait.
 *
 * One that is ahead of the others is served if nobody else can use what is free. Virtual time does not advance then: those that
 * begin to wait later would have to wait until the others have been served as often.
 */
export class FairOrder<Member extends FairMember> {
  readonly #members = new LinkedList<Member>();
  /** Those that do not wait any more, whose `served` still counts; null before there is one. */
  #gone: Map<string, number> | null = null;
  #virtualTime = 0;
  /** Whether a newcomer goes before all others. */
  #mayGoFirst = true;
  /** The newcomers that go first later, since another newcomer goes first now: in the order of arrival. */
  readonly #deferred = new LinkedList<Member>();

  get size(): number {
    return this.#members.size;
  }

  /** The one whose turn is next, and behind it the others. */
  get first(): ListNode<Member> | null {
    return this.#members.first;
  }

  /** Begins to wait, while it holds so much of what it waits for. */
  enter(member: Member, held: number): void {
    // Turns that it was served before virtual time passed it no longer count.
    const before = this.#gone?.get(member.id) ?? 0;
    const isNew = held === 0 && before <= this.#virtualTime;
    const goesFirst = isNew && this.#mayGoFirst;
    if (goesFirst) this.#mayGoFirst = false;
    else if (isNew) member.deferred = this.#deferred.append(member);
    this.#gone?.delete(member.id);
    member.served = Math.max(this.#virtualTime + held, before);
    member.rank = goesFirst ? Number.NEGATIVE_INFINITY : member.served;
    this.#insert(member);
  }

  /** It is served once: virtual time advances, unless it is ahead, and it moves back. */
  charge(member: Member): void {
    if (member.served <= this.#virtualTime + 1) this.#virtualTime += 1 / this.#members.size;
    const wasFirst = member.rank !== member.served;
    member.served = Math.max(member.served, Math.min(member.served + 1, this.#virtualTime + mostAhead));
    member.rank = member.served;
    this.#remove(member);
    this.#insert(member);
    // Once all are ahead of virtual time, it would not advance any more.
    const least = this.#members.first?.value.rank ?? 0;
    if (least > this.#virtualTime) this.#virtualTime = least;
    if (wasFirst) return;
    const newcomer = this.#deferred.first?.value;
    this.#mayGoFirst = newcomer === undefined;
    if (newcomer === undefined) return;
    newcomer.rank = Number.NEGATIVE_INFINITY;
    this.#remove(newcomer);
    this.#insert(newcomer);
  }

  /** Waits no longer. */
  leave(member: Member): void {
    this.#remove(member);
    if (this.#members.size === 0) {
      this.#gone = null;
      return;
    }
    if (member.served > this.#virtualTime) {
      this.#gone ??= new Map();
      this.#gone.set(member.id, member.served);
    }
    // Those that left first are passed first, nearly: this bounds them by those that were served lately.
    for (const [gone, until] of this.#gone ?? []) {
      if (until > this.#virtualTime) break;
      this.#gone?.delete(gone);
    }
  }

  #insert(member: Member): void {
    let previous = this.#members.last;
    while (previous !== null && previous.value.rank > member.rank) previous = previous.previous;
    member.position = this.#members.addAfter(previous, member);
  }

  #remove(member: Member): void {
    const { position, deferred } = member;
    if (position !== null) this.#members.remove(position);
    if (deferred !== null) this.#deferred.remove(deferred);
    member.deferred = null;
  }
}
