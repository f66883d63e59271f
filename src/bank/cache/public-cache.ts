import { LRUCache } from 'lru-cache';

export interface PublicCacheOptions {
  /** How long an answer counts as fresh, in milliseconds; 0 for no cache. */
  readonly ttlMs: number;
  readonly maxBytes: number;
}

/** How long a stale answer may be served while the bank is unavailable. */
const staleMs = 10 * 60 * 1000;

/** Approximate overhead of an entry besides its answer and key: answers may be as short as `{}`. */
const entryBytes = 500;

interface Entry<T> {
  readonly answer: T;
  readonly bytes: number;
  readonly storedAt: number;
}

/** A cached answer, with its age in milliseconds. */
export interface CachedValue<T> {
  readonly answer: T;
  readonly ageMs: number;
  readonly isFresh: boolean;
}

/**
 * Caches answers that are the same for everybody. They are shared and must not be modified. Other processes have their
 * own cache, and may serve an answer from before a write for up to one `ttlMs`.
 */
export function createPublicCache<T>({ ttlMs, maxBytes }: PublicCacheOptions) {
  if (ttlMs === 0) return null;
  const cache = new LRUCache<string, Entry<T>>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + entryBytes,
    ttl: ttlMs + staleMs,
  });
  return {
    /** Null where there is none. */
    get(key: string): CachedValue<T> | null {
      const found = cache.get(key);
      if (found === undefined) return null;
      const ageMs = performance.now() - found.storedAt;
      return { answer: found.answer, ageMs, isFresh: ageMs < ttlMs };
    },
    /** `bytes` is the answer's size on the wire. */
    set(key: string, answer: T, bytes: number): void {
      cache.set(key, { answer, bytes, storedAt: performance.now() });
    },
    clear(): void {
      cache.clear();
    },
  };
}
