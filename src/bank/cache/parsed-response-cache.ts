import { LRUCache } from 'lru-cache';
import type { HttpResponse } from '../http/http-message.ts';
import type { Drift } from '../response.ts';

/** The parsed body of an answer. It may be shared, and must not be modified. */
export interface ParsedResponse {
  readonly answer: unknown;
  /** False if a value in it is an error. */
  readonly isValid: boolean;
  readonly drifts: readonly Drift[];
}

interface CacheEntry {
  readonly status: number;
  readonly type: unknown;
  readonly body: Uint8Array;
  /** Null until the same bytes came a second time: most bodies that come once never come again. */
  readonly parsed: ParsedResponse | null;
  /** How many differing bodies are ignored before one replaces this entry; `misses` counts them. */
  readonly missTolerance: number;
  misses: number;
}

/** Of an answer that changes each time, one in about so many is stored. */
const maxMissTolerance = 63;
const maxBodyLength = 1024 * 1024;
/** Approximate memory of a parsed answer for each byte of its text, and of an entry besides. */
const parsedBytes = 4;
const entryBytes = 500;

/**
 * Caches parsed answers. The bank is called each time, and decides each time who may see what; but if it sends the same
 * bytes as last time, they are not parsed and checked again. That saves two thirds of the cost of a long list.
 *
 * Entries are keyed by the request without its caller. That is safe, since the bank has just sent these very bytes to
 * the caller.
 */
export function createParsedResponseCache(maxBytes: number) {
  const cache = new LRUCache<string, CacheEntry>({ maxSize: maxBytes, sizeCalculation: sizeOf });

  return {
    /** The size of the cache, in bytes. */
    get bytes(): number {
      return cache.calculatedSize;
    },

    /** The cached result for the same bytes; null if there is none. */
    find(name: string, response: HttpResponse): ParsedResponse | null {
      const before = cache.get(name);
      return before !== undefined && before.parsed !== null && matches(before, response)
        ? before.parsed
        : null;
    },

    /** Records a parsed answer that `find` did not have. It is cached once the same bytes have come twice. */
    note(name: string, response: HttpResponse, parsed: ParsedResponse): void {
      if (!parsed.isValid || response.body.length > maxBodyLength) return;
      const before = cache.get(name);
      if (before === undefined) cache.set(name, createEntry(response, 0));
      else if (matches(before, response)) cache.set(name, { ...before, parsed, missTolerance: 0 });
      else if (before.misses++ >= before.missTolerance)
        cache.set(name, createEntry(response, Math.min(2 * before.missTolerance + 1, maxMissTolerance)));
    },
  };
}

const matches = ({ status, type, body }: CacheEntry, response: HttpResponse): boolean =>
  status === response.status && type === response.headers['content-type'] && response.body.equals(body);

const createEntry = ({ status, headers, body }: HttpResponse, missTolerance: number): CacheEntry => ({
  status,
  type: headers['content-type'],
  // A view of a large buffer would keep the whole buffer alive.
  body: body.buffer.byteLength > 2 * body.length + entryBytes ? new Uint8Array(body) : body,
  parsed: null,
  missTolerance,
  misses: 0,
});

const sizeOf = ({ body, parsed }: CacheEntry, name: string): number =>
  entryBytes + 2 * name.length + body.buffer.byteLength + (parsed === null ? 0 : parsedBytes * body.length);
