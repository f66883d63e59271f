import { LRUCache } from 'lru-cache';
import type { Operation } from '../contract/operation.ts';
import { mapErrorResponse, mapTransportFailure } from './errors.ts';
import type { CallLimits, Send } from './exchange.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';
import { type Drift, ErrorInSuccess, parseResponse, validateResponse } from './response.ts';

/** The parsed body of an answer. It may be shared, and must not be modified. */
export interface ParsedResponse {
  readonly answer: unknown;
  /** False if a value in it is an error. */
  readonly isValid: boolean;
  readonly drifts: readonly Drift[];
}

/** The result of a read. It may be shared, and must not be modified. */
export interface ReadResult {
  readonly answer: unknown;
  /** The Track-ID of the call that was answered; null for an operation without one. */
  readonly trackId: string | null;
  /** Set if the bank is unavailable and a cached answer is served instead: its age in milliseconds. */
  readonly staleMs?: number;
  /** Its size on the wire. */
  readonly bytes: number;
  /** The bank's status. */
  readonly status: number;
  /** False if a value in it is an error: such answers are not cached. */
  readonly isValid: boolean;
}

/** Gets the outcome of a read, once. */
export interface Reader {
  onAnswer(read: ReadResult): void;
  onError(error: unknown): void;
}

/** Makes a read. Errors: BankqlError. */
export type Fetch = (call: PreparedCall, limits: CallLimits, reader: Reader) => void;

interface ParseOptions {
  /** The memory that parsed answers may take, in bytes. */
  readonly parsedCacheBytes: number;
  readonly onDrift?: ((drift: Drift) => void) | undefined;
}

/** Turns responses into answers: one whose bytes are the same as last time is not parsed and checked again. */
export function parseResponses({ parsedCacheBytes, onDrift }: ParseOptions, next: Send): Fetch {
  const parsedResponses = new ParsedResponseCache(parsedCacheBytes);
  return (call, limits, reader) => {
    next(call, limits, (result, sent) => {
      let read: ReadResult;
      try {
        const response = successOf(sent, result);
        const { answer, isValid, drifts } = call.keepDigits
          ? parseSuccess(sent, response)
          : parsedResponses.find(call.key, response, sent);
        for (const drift of drifts) onDrift?.(drift);
        const { status, body } = response;
        read = { answer, isValid, trackId: sent.trackId, status, bytes: body.length };
      } catch (error) {
        reader.onError(error);
        return;
      }
      reader.onAnswer(read);
    });
  };
}

/** Errors: BankqlError, if no whole answer came or it is no success. */
export function successOf(call: PreparedCall, result: HttpResult): HttpResponse {
  if (result instanceof TransportFailure) throw mapTransportFailure(call, result);
  if (result.status < 200 || result.status > 299) throw mapErrorResponse(call, result);
  return result;
}

/**
 * The answer in a successful response.
 * Errors: BANK_BAD_RESPONSE, if it cannot be read; BANK_REJECTED, if it reports an error.
 */
export function parseSuccess<T extends Operation>(call: PreparedCall<T>, response: HttpResponse) {
  const details = { ...errorDetailsOf(call), status: response.status };
  const drifts: Drift[] = [];
  const note = (drift: Drift) => void drifts.push(drift);
  const json = parseResponse(response, details, note, call.keepDigits);
  try {
    return { ...validateResponse(call.operation, json, details, note), drifts };
  } catch (error) {
    throw error instanceof ErrorInSuccess ? mapErrorResponse(call, response) : error;
  }
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
 * bytes as last time, they are not parsed and checked again. That saves two thirds of the cost of a long list, and costs
 * one comparison.
 *
 * Entries are keyed by the request without its caller. That is safe, since the bank has just sent these very bytes to
 * the caller.
 */
export class ParsedResponseCache {
  readonly #cache: LRUCache<string, CacheEntry>;

  constructor(maxBytes: number) {
    this.#cache = new LRUCache({ maxSize: maxBytes, sizeCalculation: sizeOf });
  }

  /** The size of the cache, in bytes. */
  get bytes(): number {
    return this.#cache.calculatedSize;
  }

  /** The parsed answer to a call; parsed again unless the same bytes came twice before. Errors: those of `parse`. */
  find(
    key: string,
    response: HttpResponse,
    call: PreparedCall,
    parse: (call: PreparedCall, response: HttpResponse) => ParsedResponse = parseSuccess,
  ): ParsedResponse {
    const cache = this.#cache;
    const { status, headers, body } = response;
    const before = cache.get(key);
    const isSame =
      before !== undefined &&
      status === before.status &&
      headers['content-type'] === before.type &&
      body.equals(before.body);
    if (isSame && before.parsed !== null) return before.parsed;
    const parsed = parse(call, response);
    if (!parsed.isValid || body.length > maxBodyLength) return parsed;
    if (before === undefined) cache.set(key, createEntry(response, 0));
    else if (isSame) cache.set(key, { ...before, parsed, missTolerance: 0 });
    else if (before.misses++ >= before.missTolerance)
      cache.set(key, createEntry(response, Math.min(2 * before.missTolerance + 1, maxMissTolerance)));
    return parsed;
  }
}

const createEntry = ({ status, headers, body }: HttpResponse, missTolerance: number): CacheEntry => ({
  status,
  type: headers['content-type'],
  // A view of a large buffer would keep the whole buffer alive.
  body: body.buffer.byteLength > 2 * body.length + entryBytes ? new Uint8Array(body) : body,
  parsed: null,
  missTolerance,
  misses: 0,
});

const sizeOf = ({ body, parsed }: CacheEntry, key: string): number =>
  entryBytes + 2 * key.length + body.buffer.byteLength + (parsed === null ? 0 : parsedBytes * body.length);
