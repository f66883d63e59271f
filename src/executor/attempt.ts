import { GraphQLError } from 'graphql';

/** The error itself, where it is one of GraphQL: it is the same each time, and takes long to make. */
export function attempt<T>(make: () => T): T | GraphQLError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}
