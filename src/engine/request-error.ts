import { GraphQLError, type GraphQLErrorOptions } from 'graphql';
import { type ErrorCode, type ErrorDetails, retryAdvice } from '../errors.ts';

/** The HTTP side of a refusal. */
export interface HttpExtension {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The fault is in the document. A client that accepts only plain `application/json` then gets a 200, as the
   * specification of GraphQL over HTTP requires, since it may be an older one.
   */
  readonly isOfDocument?: boolean;
}

interface RequestErrorOptions extends Pick<GraphQLErrorOptions, 'nodes' | 'source' | 'positions'> {
  readonly http?: HttpExtension;
  readonly details?: ErrorDetails;
}

/** A request that is not executed. Its extension `http` is for the handler (server/response.ts), not for the client. */
export class RequestError extends GraphQLError {
  constructor(code: ErrorCode, message: string, options: RequestErrorOptions = {}) {
    const { http = { status: 400 }, details, ...place } = options;
    super(message, {
      ...place,
      extensions: { code, ...details, ...retryAdvice(code, details), http },
    });
  }
}

/** An error as the client sees it: what is said to the handler stays here. */
export function shownError({
  message,
  locations,
  path,
  extensions: { http: _, ...extensions },
}: GraphQLError) {
  return { message, locations, path, extensions };
}

/** A request that may come again later. `retryAfter` is in seconds. */
export const retryLaterError = (code: ErrorCode, message: string, status: number, retryAfter: number) =>
  new RequestError(code, message, {
    http: { status, headers: { 'Retry-After': String(retryAfter) } },
    details: { retryAfter },
  });
