/** Something that can be cancelled. */
export interface Cancellable {
  onCancel(): void;
}

/**
 * Cancels one call, whatever stage it is in, by cancelling what it waits for at the moment. That is one thing at a
 * time, so no list of listeners is needed.
 */
export class CancellationToken {
  /** What the call waits for; null if that cannot be cancelled. */
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
