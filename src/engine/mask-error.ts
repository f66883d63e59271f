import { GraphQLError } from 'graphql';
import { BankqlError, isErrorCode } from '../errors.ts';
import { withoutStack, withPlaceOf } from '../executor/locate-error.ts';
import { RequestError } from './request-error.ts';

/**
 * The error as the client sees it: one of bankql's codes, a message that is meant for it, nothing else. Whatever is not
 * bankql's own word (a BankqlError, a GraphQLError with one of its codes, a fault of the request) becomes INTERNAL.
 * `unexpected` is told of those, for the log. Refusals are shared by the cache of documents: nobody changes one.
 */
export function maskError(error: unknown, unexpected: (error: unknown) => void): GraphQLError {
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
    const [code = 'BAD_USER_INPUT'] = [located?.extensions.code, origin.extensions.code].filter(isErrorCode);
    const { message } = located ?? origin;
    return placed(new GraphQLError(truncate(message), { path, extensions: { code, retryable: false } }));
  }
  unexpected(origin);
  return placed(internalError(path));
}

/** What stands for an error of which nothing is told; where it has no path, it is the whole request's. */
export function internalError(path?: GraphQLError['path']): GraphQLError {
  const http = path === undefined ? { http: { status: 500 } } : {};
  return new GraphQLError('Something went wrong inside bankql.', {
    path,
    extensions: { code: 'INTERNAL', retryable: false, ...http },
  });
}

/** How much of a message is shown: GraphQL's own repeat what was sent. */
const maxMessageLength = 300;

export const truncate = (message: string): string =>
  message.length <= maxMessageLength
    ? message
    : `${message.slice(0, maxMessageLength).replace(/\p{Cs}$/u, '')}…`;

/** What was thrown first, under the wrappers that say where. */
function originOf(error: unknown): unknown {
  let origin = error;
  while (origin instanceof GraphQLError && origin.originalError) origin = origin.originalError;
  return origin;
}
