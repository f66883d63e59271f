/** A member of a list. */
export interface ListNode<T> {
  readonly value: T;
  previous: ListNode<T> | null;
  next: ListNode<T> | null;
}

/**
 * A list whose members leave from anywhere, at the same small cost however long it is. Removing from an array moves the rest.
 *
 * A Set or a Map that grows and shrinks rebuilds its table, and V8 leaves the old one behind with references to its entries and
 * to the next table. An old table that has reached the old generation keeps all later ones, with all that their entries hold,
 * until the next full garbage collection, which moves the next table there.
 */
export class LinkedList<T> {
  first: ListNode<T> | null = null;
  last: ListNode<T> | null = null;
  size = 0;

  /** In order. The member that is visited may leave meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (let node = this.first; node !== null; ) {
      const { value, next } = node;
      yield value;
      node = next;
    }
  }

  /** Behind another member; at the front if that is null. */
  addAfter(previous: ListNode<T> | null, value: T): ListNode<T> {
    const next = previous === null ? this.first : previous.next;
    const node: ListNode<T> = { value, previous, next };
    if (previous === null) this.first = node;
    else previous.next = node;
    if (next === null) this.last = node;
    else next.previous = node;
    this.size++;
    return node;
  }

  append(value: T): ListNode<T> {
    const node: ListNode<T> = { value, previous: null, next: null };
    this.appendNode(node);
    return node;
  }

  /** The same for a node that is in no list. */
  appendNode(node: ListNode<T>): void {
    const { last } = this;
    node.previous = last;
    if (last === null) this.first = node;
    else last.next = node;
    this.last = node;
    this.size++;
  }

  /** Removes a member, once; it keeps no link to the others. */
  remove(node: ListNode<T>): void {
    const { previous, next } = node;
    if (previous === null && this.first !== node) return;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
    node.previous = null;
    node.next = null;
    this.size--;
  }
}
