/** What can be ended before its time. */
export interface Endable {
  onCancel(): void;
}

/**
 * Gives one call up, wherever it is. What the call waits for at the moment is what is ended; there is one such thing at
 * a time, so that this needs no list of listeners.
 */
export class Cancel {
  /** What the call waits for; null where it is nothing that can be ended. */
  waitsFor: Endable | null = null;
  #isRaised = false;

  get isRaised(): boolean {
    return this.#isRaised;
  }

  raise(): void {
    if (this.#isRaised) return;
    this.#isRaised = true;
    this.waitsFor?.onCancel();
  }
}
