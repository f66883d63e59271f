import { GraphQLError, type GraphQLErrorOptions } from 'graphql';
import { type ErrorCode, type ErrorDetails, errorCodes } from '../bank/error.ts';

/** How a refusal looks in HTTP. */
export interface InHttp {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The specification of GraphQL over HTTP wants a 200 of it where the client wants plain `application/json`: what is
   * wrong is the document, and the client may be an older one.
   */
  readonly isOfDocument?: boolean;
}

interface RefusalOptions extends Pick<GraphQLErrorOptions, 'nodes' | 'source' | 'positions'> {
  readonly http?: InHttp;
  readonly details?: ErrorDetails;
}

/** A request that is not run at all. What it says under `http` is for the door (http-answer.ts), not for the client. */
export class Refusal extends GraphQLError {
  constructor(code: ErrorCode, message: string, options: RefusalOptions = {}) {
    const { http = { status: 400 }, details, ...place } = options;
    super(message, {
      ...place,
      extensions: { code, retryable: errorCodes[code].retryable, ...details, http },
    });
  }
}

/** A request that may come again later. `retryAfter` is in seconds. */
export const refusedForNow = (code: ErrorCode, message: string, status: number, retryAfter: number) =>
  new Refusal(code, message, {
    http: { status, headers: { 'Retry-After': String(retryAfter) } },
    details: { retryAfter },
  });
