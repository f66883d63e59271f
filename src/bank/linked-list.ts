/** A place in a chain. */
export interface ListNode<T> {
  readonly value: T;
  previous: ListNode<T> | null;
  next: ListNode<T> | null;
}

/**
 * A line whose members leave from anywhere, at the same small price however long it is. (Arrays are moved at each
 * departure, and a Set that grows and shrinks makes its table anew.)
 */
export class LinkedList<T> {
  first: ListNode<T> | null = null;
  last: ListNode<T> | null = null;

  /** Behind another member; at the front where that is null. */
  addAfter(previous: ListNode<T> | null, value: T): ListNode<T> {
    const next = previous === null ? this.first : previous.next;
    const node: ListNode<T> = { value, previous, next };
    if (previous === null) this.first = node;
    else previous.next = node;
    if (next === null) this.last = node;
    else next.previous = node;
    return node;
  }

  append(value: T): ListNode<T> {
    return this.addAfter(this.last, value);
  }

  /** Takes a member out, once; what it was linked to it holds no longer. */
  remove(node: ListNode<T>): void {
    const { previous, next } = node;
    if (previous === null && this.first !== node) return;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
    node.previous = null;
    node.next = null;
  }
}
