import { GraphQLError, type GraphQLErrorOptions } from 'graphql';
import { type ErrorCode, type ErrorDetails, errorCodes } from '../errors.ts';

/** How a refusal looks in HTTP. */
export interface HttpExtension {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The specification of GraphQL over HTTP wants a 200 of it where the client wants plain `application/json`: what is
   * wrong is the document, and the client may be an older one.
   */
  readonly isOfDocument?: boolean;
}

interface RequestErrorOptions extends Pick<GraphQLErrorOptions, 'nodes' | 'source' | 'positions'> {
  readonly http?: HttpExtension;
  readonly details?: ErrorDetails;
}

/** A request that is not run at all. What it says under `http` is for the handler (http-response.ts), not for the client. */
export class RequestError extends GraphQLError {
  constructor(code: ErrorCode, message: string, options: RequestErrorOptions = {}) {
    const { http = { status: 400 }, details, ...place } = options;
    super(message, {
      ...place,
      extensions: { code, retryable: errorCodes[code].retryable, ...details, http },
    });
  }
}

/** A request that may come again later. `parseRetryAfter` is in seconds. */
export const retryLaterError = (code: ErrorCode, message: string, status: number, retryAfter: number) =>
  new RequestError(code, message, {
    http: { status, headers: { 'Retry-After': String(retryAfter) } },
    details: { retryAfter },
  });
