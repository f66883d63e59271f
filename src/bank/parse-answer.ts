import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { mapErrorResponse, mapTransportFailure } from './errors.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';
import { type Drift, ErrorInSuccess, parseResponse, validateResponse } from './response.ts';

/** A successful answer that cannot be read. Contains no part of the bank's text. */
export interface UnreadableAnswer {
  readonly operation: string;
  readonly trackId: string | null;
  readonly status: number;
  /** Why it cannot be read, in a sentence. */
  readonly failure: string;
}

/** Errors: BankqlError, if no whole answer came or it is no success. */
export function successOf(call: PreparedCall, result: HttpResult): HttpResponse {
  if (result instanceof TransportFailure) throw mapTransportFailure(call, result);
  if (result.status < 200 || result.status > 299) throw mapErrorResponse(call, result);
  return result;
}

/**
 * The answer in a successful response, and how it drifts.
 * Errors: BANK_BAD_RESPONSE, if it cannot be read, which `onUnreadable` is called with; BANK_REJECTED, if it reports an error.
 */
export function parseSuccess<T extends Operation>(
  call: PreparedCall<T>,
  response: HttpResponse,
  onUnreadable?: (answer: UnreadableAnswer) => void,
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
