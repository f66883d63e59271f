import { type ASTNode, GraphQLError, getLocation, locatedError, type SourceLocation } from 'graphql';

const locations = new WeakMap<ASTNode, SourceLocation>();

/** How many places of a document an error shows: each of 100 errors would repeat hundreds of one field. */
const maxLocations = 3;

/**
 * graphql's locatedError, which looks for the line of a node anew for each error: that takes milliseconds where a
 * document has many lines. Here it is looked for once. Never throws: what cannot be read is located without its words.
 */
export const locateError = (
  raw: unknown,
  nodes: readonly ASTNode[],
  path: (string | number)[],
): GraphQLError => withoutStack(() => locate(raw, nodes, path));

/** Makes errors that note no calls, which takes longer than the rest of them: that of what was thrown first says more. */
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
    // Without nodes, there is nothing to look for; an error may bring its own.
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

/** An error with the place in the document of another, which need not be looked for again. */
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
