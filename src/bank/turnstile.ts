import { Chain, type Link } from './chain.ts';

/** One who wants a place. */
export interface Visitor<Place> {
  /** Who visitors are let in for by turns. */
  readonly caller: string;
  /** The place is the visitor's, until it is given back with `leave`. */
  enter(place: Place): void;
}

/** A caller's visitors that wait. */
interface Turn<Place> {
  readonly caller: string;
  readonly queue: Chain<Visitor<Place>>;
  /** Where it stands among the turns; null while none of its visitors waits. */
  place: Link<Turn<Place>> | null;
}

/** One that waits, for `giveUp`. */
export interface Wait<Place> {
  readonly turn: Turn<Place>;
  readonly link: Link<Visitor<Place>>;
}

/**
 * Bounds how many are under way: each has a place. Those that wait are let in caller by caller, in turn: one who asks for
 * a thousand things waits for himself.
 *
 * A place that is given back goes to the next in the same moment, and else to the one that comes next: what was used last
 * is used first.
 */
export class Turnstile<Place> {
  readonly #most: number;
  readonly #make: () => Place;
  readonly #free: Place[] = [];
  #made = 0;
  /** Callers that wait, in the order of their turns. */
  readonly #turns = new Chain<Turn<Place>>();
  readonly #ofCaller = new Map<string, Turn<Place>>();

  /** `most` places, each made when it is needed first. */
  constructor(most: number, make: () => Place) {
    this.#most = most;
    this.#make = make;
  }

  /** Lets in at once where a place is free, and answers null; else the visitor waits. */
  enter(visitor: Visitor<Place>): Wait<Place> | null {
    const place = this.#free.pop() ?? this.#another();
    if (place !== null) {
      visitor.enter(place);
      return null;
    }
    const turn = this.#turnOf(visitor.caller);
    return { turn, link: turn.queue.add(visitor) };
  }

  /** Gives a place back, once. */
  leave(place: Place): void {
    const turn = this.#turns.first?.value;
    const next = turn?.queue.first;
    if (turn === undefined || !next) {
      this.#free.push(place);
      return;
    }
    this.giveUp({ turn, link: next });
    if (turn.place !== null) {
      this.#turns.remove(turn.place);
      turn.place = this.#turns.add(turn);
    }
    next.value.enter(place);
  }

  /** Who waits, waits no longer. */
  giveUp({ turn, link }: Wait<Place>): void {
    turn.queue.remove(link);
    if (turn.queue.first !== null || turn.place === null) return;
    this.#turns.remove(turn.place);
    turn.place = null;
    this.#ofCaller.delete(turn.caller);
  }

  /** A place that was never used; null where there are no more. */
  #another(): Place | null {
    if (this.#made === this.#most) return null;
    this.#made++;
    return this.#make();
  }

  #turnOf(caller: string): Turn<Place> {
    const known = this.#ofCaller.get(caller);
    if (known !== undefined) return known;
    const turn: Turn<Place> = { caller, queue: new Chain(), place: null };
    turn.place = this.#turns.add(turn);
    this.#ofCaller.set(caller, turn);
    return turn;
  }
}
