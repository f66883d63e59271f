import type { StoreClock } from './store-clock.ts';
import type { OnStoreEvent } from './store-event.ts';

/** What a store on a server is opened with, whichever server it is. */
export interface ServerStoreOptions {
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** How long a call may take. */
  readonly timeoutMs: number;
  /** Whether a server is accepted that may forget payments (see checkServer). By default it is not. */
  readonly allowVolatile?: boolean;
  /** Whether the store is made where there is none; by default it is. */
  readonly create?: boolean;
  /** A file that holds the store's high-water mark as well. */
  readonly witness?: string | undefined;
  readonly onEvent?: OnStoreEvent | undefined;
  /** How long the start may try to reach a server; by default five seconds. */
  readonly startTimeoutMs?: number;
  /** Whose clock leases and retention go by; by default the server's. */
  readonly clock?: StoreClock;
}
