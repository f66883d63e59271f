import { LRUCache } from 'lru-cache';

export interface PublicCacheOptions {
  /** How long an answer counts as fresh, in milliseconds; 0 for no cache. */
  readonly ttlMs: number;
  readonly maxBytes: number;
}

/** How long an answer stands in for a bank that is away. */
const staleMs = 10 * 60 * 1000;

/** What an entry takes beside its answer's bytes and its key, about: answers may be as short as `{}`. */
const entryBytes = 500;

interface Entry<T> {
  readonly answer: T;
  readonly bytes: number;
  readonly storedAt: number;
}

/** A kept answer, with its age in milliseconds. */
export interface CachedValue<T> {
  readonly answer: T;
  readonly ageMs: number;
  readonly isFresh: boolean;
}

/**
 * Answers that are the same for everybody, kept for a while. They are shared: nobody may change one.
 * Other processes keep their own, and may show what was before a write for one `ttlMs` longer.
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
    /** `bytes` is what the answer measured on the wire. */
    set(key: string, answer: T, bytes: number): void {
      cache.set(key, { answer, bytes, storedAt: performance.now() });
    },
    clear(): void {
      cache.clear();
    },
  };
}
