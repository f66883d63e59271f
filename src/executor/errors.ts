import { type ASTNode, GraphQLError, getLocation, locatedError, type SourceLocation } from 'graphql';

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

const locations = new WeakMap<ASTNode, SourceLocation>();

/**
 * The most locations of one error: the same field may be selected hundreds
 * of times, and an answer has up to 100 errors.
 */
const maxLocations = 3;

/**
 * graphql's locatedError computes a node's line for each error, which takes milliseconds in a document of many lines;
 * here it is computed once for each node. Never throws: if the error cannot be read, a generic message replaces it.
 */
export const locateError = (
  raw: unknown,
  nodes: readonly ASTNode[],
  path: (string | number)[],
): GraphQLError => withoutStack(() => locate(raw, nodes, path));

/** Creates errors without a stack trace, their most expensive part: the original error's trace says more. */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function locate(raw: unknown, nodes: readonly ASTNode[], path: (string | number)[]): GraphQLError {
  try {
    if (raw instanceof GraphQLError && raw.nodes !== undefined) {
      if (raw.path !== undefined) return raw;
      const error = new GraphQLError(raw.message, { path, originalError: raw });
      return withPlaceOf(error, raw);
    }
    // Passing no nodes skips the computation of locations; the error may have its own.
    const error = locatedError(raw, undefined, path);
    if (error.path !== path || error.nodes !== undefined) return error;
    const shown = nodes.slice(0, maxLocations);
    return Object.assign(error, {
      nodes: shown,
      source: shown[0]?.loc?.source,
      positions: shown.flatMap(({ loc }) => loc?.start ?? []),
      locations: shown.flatMap(locationOf),
    });
  } catch {
    return new GraphQLError('What was thrown cannot be read.', { path });
  }
}

/** Copies the location of one error to another, so that it is not computed again. */
export const withPlaceOf = (
  error: GraphQLError,
  { nodes, source, positions, locations }: GraphQLError,
): GraphQLError => Object.assign(error, { nodes, source, positions, locations });

function locationOf(node: ASTNode): SourceLocation | [] {
  const { loc } = node;
  if (loc === undefined) return [];
  const known = locations.get(node) ?? getLocation(loc.source, loc.start);
  locations.set(node, known);
  return known;
}
