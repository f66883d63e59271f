import { LRUCache } from 'lru-cache';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { parsedTimes } from '../ledger.ts';
import { mapErrorResponse, mapTransportFailure } from './errors.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';
import { type Drift, ErrorInSuccess, parseResponse, validateResponse } from './response.ts';
import type { Sender } from './retry.ts';
import type { CallLimits } from './transport.ts';

/** The parsed body of an answer. It may be shared, and must not be modified. */
interface ParsedResponse {
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

/** A successful answer that cannot be read. Contains nothing of what the bank wrote. */
export interface UnreadableAnswer {
  readonly operation: string;
  readonly trackId: string | null;
  readonly status: number;
  /** Why it cannot be read, in a sentence. */
  readonly failure: string;
}

type OnUnreadable = ((answer: UnreadableAnswer) => void) | undefined;

interface ParseOptions {
  /** The memory that parsed answers may take, in bytes. */
  readonly parsedCacheBytes: number;
  readonly onDrift?: ((drift: Drift) => void) | undefined;
  readonly onUnreadable?: OnUnreadable;
}

/** Up to this length a body is parsed at once, in bytes: in less than a tenth of a millisecond. */
const shortBody = 8 * 1024;

/**
 * Turns responses into answers: one whose bytes are the same as last time is not parsed and checked again. Any other long one is
 * parsed in a turn of the GraphQL operations that wait for it.
 */
export function parseResponses(
  { parsedCacheBytes, onDrift, onUnreadable }: ParseOptions,
  next: Sender,
): Fetch {
  const cache = new ParsedResponseCache(parsedCacheBytes);

  function settle(
    { trackId }: PreparedCall,
    { status, body }: HttpResponse,
    { answer, isValid, drifts }: ParsedResponse,
    reader: Reader,
  ): void {
    for (const drift of drifts) onDrift?.(drift);
    reader.onAnswer({ answer, isValid, trackId, status, bytes: body.length });
  }

  function parse(call: PreparedCall, response: HttpResponse, reader: Reader): void {
    let parsed: ParsedResponse;
    try {
      parsed = parseSuccess(call, response, onUnreadable);
    } catch (error) {
      reader.onError(error);
      return;
    }
    if (!call.keepDigits) cache.add(call.key, response, parsed);
    settle(call, response, parsed, reader);
  }

  return async (call, limits, reader) => {
    const { result, sent } = await next(call, limits);
    let response: HttpResponse;
    try {
      response = successOf(sent, result);
    } catch (error) {
      reader.onError(error);
      return;
    }
    const known = sent.keepDigits ? null : cache.find(sent.key, response);
    const { length } = response.body;
    if (known !== null) {
      // The cache holds it already, for all operations: this one keeps nothing of its own.
      limits.readBudget?.keep(-length);
      settle(sent, response, known, reader);
    } else if (length <= shortBody) parse(sent, response, reader);
    else limits.run(length, () => parse(sent, response, reader));
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
 * Errors: BANK_BAD_RESPONSE, if it cannot be read, which `onUnreadable` is called with; BANK_REJECTED, if it reports an error.
 */
export function parseSuccess<T extends Operation>(
  call: PreparedCall<T>,
  response: HttpResponse,
  onUnreadable: OnUnreadable,
) {
  const details = { ...errorDetailsOf(call), status: response.status };
  const drifts: Drift[] = [];
  const note = (drift: Drift) => void drifts.push(drift);
  try {
    const json = parseResponse(response, details, note, call.keepDigits);
    return { ...validateResponse(call.operation, json, details, note), drifts };
  } catch (error) {
    if (error instanceof ErrorInSuccess) throw mapErrorResponse(call, response);
    if (error instanceof BankqlError) {
      const { operation, trackId } = call;
      onUnreadable?.({ operation: operation.id, trackId, status: response.status, failure: error.message });
    }
    throw error;
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
/** Approximate memory of an entry besides its body and the parsed answer. */
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

  /** The parsed answer to a call if the same bytes came twice before; otherwise null. */
  find(key: string, response: HttpResponse): ParsedResponse | null {
    const before = this.#cache.get(key);
    return before?.parsed && isSame(before, response) ? before.parsed : null;
  }

  /** Notes what was parsed. */
  add(key: string, response: HttpResponse, parsed: ParsedResponse): void {
    const cache = this.#cache;
    if (!parsed.isValid || response.body.length > maxBodyLength) return;
    const before = cache.get(key);
    if (before === undefined) cache.set(key, createEntry(response, 0));
    else if (isSame(before, response)) cache.set(key, { ...before, parsed, missTolerance: 0 });
    else if (before.misses++ >= before.missTolerance)
      cache.set(key, createEntry(response, Math.min(2 * before.missTolerance + 1, maxMissTolerance)));
  }
}

const isSame = ({ status, type, body }: CacheEntry, response: HttpResponse): boolean =>
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

const sizeOf = ({ body, parsed }: CacheEntry, key: string): number =>
  entryBytes + 2 * key.length + body.buffer.byteLength + (parsed === null ? 0 : parsedTimes * body.length);
