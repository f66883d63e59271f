import type { PreparedCall } from './call.ts';
import type { Cancel } from './cancel.ts';
import { callerOf, keyOf } from './credentials.ts';
import { BankqlError, type ErrorCode } from './error.ts';
import { failureOf } from './failure.ts';
import { createFlights } from './flights.ts';
import type { Patience } from './patience.ts';
import { createPublicCache } from './public-cache.ts';
import { TransportFailure } from './wire.ts';

/** What is read, and may be shared: nobody may change it. */
export interface Fetched {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** Where the bank is away and an answer of before stands in: how old that is, in milliseconds. */
  readonly staleMs?: number;
  /** What it measured on the wire. */
  readonly bytes: number;
  /** False where an error stands in a value's place: errors are kept for nobody. */
  readonly isWhole: boolean;
}

export interface SharingOptions {
  /** How long public data counts as fresh, in milliseconds; 0 for no cache. */
  readonly publicCacheTtlMs: number;
  /** The deadline of a call that is shared, in milliseconds. */
  readonly timeoutMs: number;
  /** Is told how a read was answered without a call of its own; it must not throw. */
  readonly onShared?: ((operation: string, how: 'joined' | 'cached' | 'stale') => void) | undefined;
}

const isAway = (error: unknown) =>
  error instanceof BankqlError
    ? away.has(error.code)
    : error instanceof TransportFailure && error.reason === 'timeout';

/** Makes a call of its own. Errors: BankqlError. */
type Fetch = (call: PreparedCall, deadline: number, cancel: Cancel) => Promise<Fetched>;

const publicGroup = 'public';
const publicCacheBytes = 32 * 1024 * 1024;

/** Errors of a bank that is away, for which an answer of before may stand in. */
const away: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['BANK_UNAVAILABLE', 'BANK_TIMEOUT', 'OVERLOADED']);

/**
 * Reads that are shared. The same caller (all three credentials, byte for byte) who asks the same again while the
 * answer is under way gets that answer. Public data, for which no caller is sent, is shared by all who have the same
 * subscription key, and kept for a while; while the bank is away, for ten minutes more.
 */
export function createSharing({ publicCacheTtlMs, timeoutMs, onShared }: SharingOptions, fetch: Fetch) {
  const flights = createFlights<Fetched>();
  const cache = createPublicCache<Fetched>({ ttlMs: publicCacheTtlMs, maxBytes: publicCacheBytes });

  return {
    /**
     * Reads, alone or together with who asks the same.
     * Errors: BankqlError; for who gave up, as for a call that did not end.
     */
    async read(call: PreparedCall, patience: Patience, alone: boolean): Promise<Fetched> {
      const { ended } = patience;
      if (ended !== null) throw failureOf(call, ended);
      const { operation, credentials } = call;
      const isPublic = operation.audience === 'public';
      const key = alone ? Symbol() : isPublic ? `${keyOf(credentials)} ${call.name}` : call.name;
      const kept = typeof key === 'string' && isPublic ? (cache?.find(key) ?? null) : null;
      if (kept?.isFresh) {
        onShared?.(operation.id, 'cached');
        return kept.answer;
      }
      const ownDeadline = performance.now() + timeoutMs;
      try {
        const taken = await flights.take({
          group: isPublic ? publicGroup : callerOf(credentials),
          key,
          patience,
          start: (cancel) => fetch(call, ownDeadline, cancel),
          keep(fetched) {
            if (typeof key === 'string' && isPublic && fetched.isWhole)
              cache?.keep(key, fetched, fetched.bytes);
          },
        });
        // Errors are shared with nobody.
        if (taken === 'joined a failure') return await this.read(call, patience.until(ownDeadline), true);
        if (taken.joined) onShared?.(operation.id, 'joined');
        return taken.answer;
      } catch (error) {
        if (kept === null || !isAway(error))
          throw error instanceof TransportFailure ? failureOf(call, error) : error;
        onShared?.(operation.id, 'stale');
        return { ...kept.answer, staleMs: kept.ageMs };
      }
    },

    /** What was read of these before is out of date: said before the bank is asked to change it, and after. */
    changed({ operation, credentials }: PreparedCall): void {
      flights.close(callerOf(credentials));
      if (operation.audience !== 'public') return;
      flights.close(publicGroup);
      cache?.clear();
    },
  };
}
