/** What can be ended before its time. */
export interface Cancellable {
  onCancel(): void;
}

/**
 * Gives one call up, wherever it is. What the call waits for at the moment is what is ended; there is one such thing at
 * a time, so that this needs no list of listeners.
 */
export class CancellationToken {
  /** What the call waits for; null where it is nothing that can be ended. */
  pending: Cancellable | null = null;
  #isCancelled = false;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.pending?.onCancel();
  }
}
