import { GraphQLError } from 'graphql';
import { BankqlError, isErrorCode } from '../bank/error.ts';

/**
 * The error as the client sees it: one of bankql's codes, a message that is meant for it, nothing else. Whatever is not
 * bankql's own word (a BankqlError, a GraphQLError with one of its codes, a fault of the request) becomes INTERNAL.
 * `unexpected` is told of those, for the log.
 *
 * GraphQL's own errors are shared by a cache, so none is changed: each answer gets a copy.
 */
export function maskError(error: unknown, unexpected: (error: unknown) => void): GraphQLError {
  const located = error instanceof GraphQLError ? error : null;
  const origin = originOf(error);
  const place = {
    nodes: located?.nodes,
    source: located?.source,
    positions: located?.positions,
    path: located?.path,
  };
  if (origin instanceof BankqlError) {
    const http = located?.path === undefined ? { http: { status: 400 } } : {};
    return new GraphQLError(origin.message, { ...place, extensions: { ...origin.extensions, ...http } });
  }
  if (origin instanceof GraphQLError) {
    const { code, http } = located?.extensions ?? {};
    const known = isErrorCode(code)
      ? code
      : isErrorCode(origin.extensions['code'])
        ? origin.extensions['code']
        : null;
    // What GraphQL itself refuses while it runs: a variable or an argument that does not fit, an unknown operation.
    const extensions = { code: known ?? 'BAD_USER_INPUT', retryable: false };
    const message = known === 'GRAPHQL_PARSE_FAILED' ? located?.message : origin.message;
    return new GraphQLError((located ?? origin).message || String(message), {
      ...place,
      extensions: http === undefined ? extensions : { ...extensions, http },
    });
  }
  unexpected(error);
  const http = located?.path === undefined ? { http: { status: 500 } } : {};
  return new GraphQLError('Something went wrong inside bankql.', {
    ...place,
    extensions: { code: 'INTERNAL', retryable: false, ...http },
  });
}

/** What was thrown first, under the wrappers that say where. */
function originOf(error: unknown): unknown {
  let origin = error;
  while (origin instanceof GraphQLError && origin.originalError) origin = origin.originalError;
  return origin;
}
