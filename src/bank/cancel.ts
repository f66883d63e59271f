/**
 * Gives one call up, wherever it is. What the call waits for at the moment says how it is ended; there is one such
 * thing at a time, so that this needs no list of listeners.
 */
export class Cancel {
  /** Ends what the call waits for; null where it waits for nothing that can be ended. */
  onRaise: (() => void) | null = null;
  #isRaised = false;

  get isRaised(): boolean {
    return this.#isRaised;
  }

  raise(): void {
    if (this.#isRaised) return;
    this.#isRaised = true;
    this.onRaise?.();
  }
}
