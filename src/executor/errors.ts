import { type ASTNode, GraphQLError, locatedError } from 'graphql';
import { getOrMake } from '../get-or-make.ts';

/** Returns a GraphQLError instead of throwing it, so that it can be kept: it is costly to create. */
export function attempt<T>(make: () => T): T | GraphQLError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

/**
 * The maximum number of locations in an error: the same field may be selected hundreds of times, and an answer has up to 100
 * errors.
 */
const maxLocations = 3;

/**
 * One error for each field of a document. Later errors of the field copy its location: graphql computes a location by counting
 * lines, which is slow.
 */
const places = new WeakMap<readonly ASTNode[], GraphQLError>();
const placeOf = (nodes: readonly ASTNode[]): GraphQLError =>
  getOrMake(places, nodes, () => new GraphQLError('', { nodes: nodes.slice(0, maxLocations) }));

/** The error with a path and a location, unless it already has them. */
export const locateError = (
  raw: unknown,
  nodes: readonly ASTNode[],
  path: (string | number)[],
): GraphQLError =>
  withoutStack(() => {
    if (raw instanceof GraphQLError && raw.path === undefined && raw.nodes !== undefined)
      return withPlaceOf(new GraphQLError(raw.message, { path, originalError: raw }), raw);
    const error = locatedError(raw, undefined, path);
    return error.path === path ? withPlaceOf(error, placeOf(nodes)) : error;
  });

/** Creates errors without a stack trace, their most expensive part. The original error has the useful trace. */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Copies the location of one error to another, so that it is not computed again. */
export const withPlaceOf = (
  error: GraphQLError,
  { nodes, source, positions, locations }: GraphQLError,
): GraphQLError => Object.assign(error, { nodes, source, positions, locations });
