/** Events of a payment store that an operator should see; each becomes a line in the log. Times are in milliseconds. */
export type StoreEvent =
  /** `begin` is refused from now on: see PaymentStore.loss. */
  | { readonly kind: 'loss'; readonly loss: string }
  /** An operator accepted the loss: `begin` works again. */
  | { readonly kind: 'loss-accepted' }
  /** More than a tenth of all records are older than the retention. `deleted` of these `expired` ones are gone now. */
  | { readonly kind: 'purge'; readonly deleted: number; readonly expired: number; readonly records: number }
  /**
   * The clocks of the store's server and of this process differ, or this process's clock jumped ahead: no record expires until they
   * agree.
   */
  | { readonly kind: 'clocks-differ'; readonly byMs: number }
  | { readonly kind: 'clocks-agree' }
  /**
   * The high-water mark could not be written to this file. Payments continue; a loss would be detected less exactly.
   */
  | { readonly kind: 'mark-failed'; readonly file: string; readonly reason: string }
  | { readonly kind: 'mark-written-again'; readonly file: string }
  /** The stored record of this payment is damaged. Each answer that needs it fails; no other payment is concerned. */
  | { readonly kind: 'record-unreadable'; readonly id: string };

export type OnStoreEvent = (event: StoreEvent) => void;
