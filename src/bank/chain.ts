/** A place in a chain. */
export interface Link<T> {
  readonly value: T;
  previous: Link<T> | null;
  next: Link<T> | null;
}

/**
 * A line whose members leave from anywhere, at the same small price however long it is. (Arrays are moved at each
 * departure, and a Set that grows and shrinks makes its table anew.)
 */
export class Chain<T> {
  first: Link<T> | null = null;
  last: Link<T> | null = null;

  /** Behind another member; at the front where that is null. */
  addAfter(previous: Link<T> | null, value: T): Link<T> {
    const next = previous === null ? this.first : previous.next;
    const link: Link<T> = { value, previous, next };
    if (previous === null) this.first = link;
    else previous.next = link;
    if (next === null) this.last = link;
    else next.previous = link;
    return link;
  }

  add(value: T): Link<T> {
    return this.addAfter(this.last, value);
  }

  /** Takes a member out, once; what it was linked to it holds no longer. */
  remove(link: Link<T>): void {
    const { previous, next } = link;
    if (previous === null && this.first !== link) return;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
    link.previous = null;
    link.next = null;
  }
}
