import { LRUCache } from 'lru-cache';
import type { HttpResponse } from '../http/http-message.ts';
import type { Drift } from '../response.ts';

/** What was made of an answer's bytes. It may be shared with others, and must not be changed. */
export interface ParsedResponse {
  readonly answer: unknown;
  /** False where an error stands in a value's place. */
  readonly isValid: boolean;
  readonly drifts: readonly Drift[];
}

interface CacheEntry {
  readonly status: number;
  readonly type: unknown;
  readonly body: Uint8Array;
  /** Null until the same bytes came a second time: most bodies that come once never come again. */
  readonly parsed: ParsedResponse | null;
  /** How many other bodies are passed over before one takes this one's place, and how many were. */
  readonly missTolerance: number;
  misses: number;
}

/** What is looked at and what is kept of one that always changes: every so many. */
const maxMissTolerance = 63;
const maxBodyLength = 1024 * 1024;
/** What a parsed answer takes in memory for each byte of its text, about; and what an entry takes beside it. */
const parsedBytes = 4;
const entryBytes = 500;

/**
 * Answers that were read before. The bank is asked each time, and decides each time who may see what; but where it
 * sends the same bytes as last time, what was made of them is taken again. That is two thirds of what a long list costs.
 *
 * Answers are named by their request without its caller: whoever gets one was just sent these very bytes.
 */
export function createParsedResponseCache(maxBytes: number) {
  const cache = new LRUCache<string, CacheEntry>({ maxSize: maxBytes, sizeCalculation: sizeOf });

  return {
    /** How much is kept, in bytes. */
    get bytes(): number {
      return cache.calculatedSize;
    },

    /** What was made of the same bytes before; null where nothing is kept of them. */
    find(name: string, response: HttpResponse): ParsedResponse | null {
      const before = cache.get(name);
      return before !== undefined && before.parsed !== null && matches(before, response)
        ? before.parsed
        : null;
    },

    /** What was made of an answer of which `find` gave nothing; it is kept where the same bytes come again. */
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

const createEntry = ({ status, headers, body }: HttpResponse, operationDeadline: number): CacheEntry => ({
  status,
  type: headers['content-type'],
  // A part of a large buffer would keep all of it.
  body: body.buffer.byteLength > 2 * body.length + entryBytes ? new Uint8Array(body) : body,
  parsed: null,
  missTolerance: operationDeadline,
  misses: 0,
});

const sizeOf = ({ body, parsed }: CacheEntry, name: string): number =>
  entryBytes + 2 * name.length + body.buffer.byteLength + (parsed === null ? 0 : parsedBytes * body.length);
