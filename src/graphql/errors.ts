import { GraphQLError, type GraphQLErrorOptions } from 'graphql';
import {
  BankqlError,
  type ErrorCode,
  type ErrorDetails,
  isErrorCode,
  retryAdvice,
  shorten,
} from '../errors.ts';
import { withoutStack, withPlaceOf } from '../executor/errors.ts';

/** The HTTP status and headers of the answer to a refused request. */
export interface HttpExtension {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the fault is in the document. A client that accepts only `application/json` then gets a 200, as GraphQL over HTTP
   * requires for old clients.
   */
  readonly isOfDocument?: boolean;
}

interface RequestErrorOptions extends Pick<GraphQLErrorOptions, 'nodes' | 'source' | 'positions'> {
  readonly http?: HttpExtension;
  readonly details?: ErrorDetails;
}

/** A request that is not executed. Its extension `http` is for the handler (http/respond.ts), not for the client. */
export class RequestError extends GraphQLError {
  constructor(code: ErrorCode, message: string, options: RequestErrorOptions = {}) {
    const { http = { status: 400 }, details, ...place } = options;
    super(message, {
      ...place,
      extensions: { code, ...details, ...retryAdvice(code, details), http },
    });
  }
}

type ShownError = Pick<GraphQLError, 'message' | 'extensions'> &
  Partial<Pick<GraphQLError, 'locations' | 'path'>>;

/**
 * An error as the client sees it, without the extensions that are not for the client: `http` (for the
 * handler) and `isGivenUp` (for metrics). All errors of all answers pass here.
 */
export function shownError({ message, locations, path, extensions: details }: ShownError) {
  const { http: _, isGivenUp: _isGivenUp, ...extensions } = details;
  return { message, locations, path, extensions };
}

/** The error of a request that may be repeated later. `retryAfter` is in seconds. */
export const retryLaterError = (code: ErrorCode, message: string, status: number, retryAfter: number) =>
  new RequestError(code, message, {
    http: { status, headers: { 'Retry-After': String(retryAfter) } },
    details: { retryAfter },
  });

/** The error of a request that is refused because bankql lacks capacity. `message`: one of src/load/capacity.ts. */
export const overloadedError = (message: string) => retryLaterError('OVERLOADED', message, 503, 1);

/**
 * Converts any error into one that the client may see. An error that is already masked stays as it is. Never
 * throws.
 */
export interface MaskError {
  (error: unknown): GraphQLError;
  /** Marks an error as intended for the client, and returns it unchanged. */
  asItIs(error: GraphQLError): GraphQLError;
}

/** `unexpected` is called with bankql's own failures, to log them. */
export function createMaskError(unexpected: (error: unknown) => void): MaskError {
  // The errors that are masked already, because yoga may mask an error that a plugin has masked.
  const masked = new WeakSet<object>();
  const asItIs = (error: GraphQLError): GraphQLError => {
    masked.add(error);
    return error;
  };
  const mask = (error: unknown): GraphQLError => {
    try {
      return masked.has(error as object) ? (error as GraphQLError) : asItIs(maskError(error, unexpected));
    } catch {
      // The error cannot even be inspected: one of its members throws.
      return internalError();
    }
  };
  return Object.assign(mask, { asItIs });
}

/**
 * The error as the client sees it: one of bankql's codes and a message intended for clients. A GraphQLError with another code
 * comes from a plugin, and keeps its extensions. Anything else becomes INTERNAL and is passed to `unexpected` for the log. A
 * RequestError stays unchanged, because the document cache shares it.
 */
function maskError(error: unknown, unexpected: (error: unknown) => void): GraphQLError {
  if (error instanceof RequestError) return error;
  const located = error instanceof GraphQLError ? error : null;
  const origin = originOf(error);
  const path = located?.path;
  const placed = (masked: GraphQLError) => (located === null ? masked : withPlaceOf(masked, located));
  if (origin instanceof BankqlError) {
    const http = located?.path === undefined ? { http: { status: 400 } } : {};
    const extensions = { ...origin.extensions, ...http };
    return placed(withoutStack(() => new GraphQLError(origin.message, { path, extensions })));
  }
  if (origin instanceof GraphQLError) {
    const { message } = located ?? origin;
    const own = [located, origin].find((each) => typeof each?.extensions.code === 'string')?.extensions;
    const extensions =
      isErrorCode(own?.code) || own === undefined
        ? { code: own?.code ?? 'BAD_USER_INPUT', retryable: false }
        : own;
    return placed(new GraphQLError(truncate(message), { path, extensions }));
  }
  unexpected(origin);
  return placed(internalError(path));
}

/** The error that the client sees instead of an unexpected one. Without a path, it is the error of the whole request. */
export function internalError(path?: GraphQLError['path']): GraphQLError {
  const http = path === undefined ? { http: { status: 500 } } : {};
  return new GraphQLError('Something went wrong inside bankql.', {
    path,
    extensions: { code: 'INTERNAL', retryable: false, ...http },
  });
}

/** The maximum length of a message: GraphQL's own messages repeat parts of the request. */
const maxMessageLength = 300;

export const truncate = (message: string): string =>
  message.length <= maxMessageLength ? message : `${shorten(message, maxMessageLength)}…`;

/** The original error, below the wrappers that locate it. */
function originOf(error: unknown): unknown {
  let origin = error;
  while (origin instanceof GraphQLError && origin.originalError) origin = origin.originalError;
  return origin;
}
