import { GraphQLError } from 'graphql';

/**
 * Returns a GraphQLError instead of throwing it, so that it can be cached:
 * it is always the same and costly to create.
 */
export function attempt<T>(make: () => T): T | GraphQLError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}
