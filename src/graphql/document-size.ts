import { type DocumentNode, type FieldNode, GraphQLError, parse } from 'graphql';
import { fragmentsOf } from '../executor/selection.ts';
import { RequestError } from './errors.ts';

/** The size of an empty operation. Each spread of a fragment adds the fragment's size. */
const nothing = {
  /** The longest path from the operation to a field, in fields. */
  depth: 0,
  fields: 0,
  rootFields: 0,
  /** Aliases at the root. Only `rootFields` limits them, because a gateway gives an alias to each field that it delegates. */
  rootAliases: 0,
  /** Aliases below the root of the operation. */
  aliases: 0,
  directives: 0,
  /** The length of the longest alias, in characters. */
  aliasLength: 0,
};
type OperationSize = Readonly<typeof nothing>;

/** The maximum size of an operation. `tokens` is the number of tokens in the document's text. */
export interface DocumentLimits extends Omit<OperationSize, 'aliasLength' | 'rootAliases'> {
  readonly tokens: number;
}

/** The names of the limited sizes in errors. */
const sizeWords = [
  ['depth', 'levels of fields'],
  ['fields', 'fields'],
  ['rootFields', 'fields at its root'],
  ['aliases', 'aliases below its root'],
  ['directives', 'directives'],
] as const;

/** The maximum length of an alias in characters. The path of each error below an alias repeats it. */
const maxAliasLength = 128;

/** The maximum number of lines for each permitted token, comments and empty lines included. */
const linesPerToken = 2;

/**
 * Parses a document's text.
 * Errors: GraphQLError for a syntax error; LIMIT_EXCEEDED for a text that is too long to be parsed, or an operation that is too
 *         large.
 */
export function parseWithin(text: string, limits: DocumentLimits): DocumentNode {
  try {
    // Lines are limited, because graphql counts the lines before an error to locate it.
    const maxLines = linesPerToken * limits.tokens;
    if (text.split(/\r\n|\r|\n/, maxLines + 1).length > maxLines)
      throw new RequestError('LIMIT_EXCEEDED', `The document holds more than ${maxLines} lines.`);
    const document = parse(text, { maxTokens: limits.tokens, allowEmptySelectionSets: false });
    checkSize(document, limits);
    return document;
  } catch (error) {
    // graphql's error for too many tokens differs from other syntax errors only by its message.
    if (error instanceof GraphQLError && error.message.includes('Parsing aborted'))
      throw new RequestError('LIMIT_EXCEEDED', `The document holds more than ${limits.tokens} tokens.`);
    throw error;
  }
}

/** Errors: GraphQLError if an operation of the document is too large. */
function checkSize(document: DocumentNode, limits: DocumentLimits): void {
  for (const size of measureOperations(document)) {
    if (size.aliasLength > maxAliasLength)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation holds an alias of ${size.aliasLength} characters, and one may have ${maxAliasLength}; use shorter names.`,
      );
    for (const [name, word] of sizeWords) {
      if (size[name] > limits[name])
        throw new RequestError(
          'LIMIT_EXCEEDED',
          `The operation holds ${size[name]} ${word}, and may hold ${limits[name]}; ask for less at a time.`,
        );
    }
  }
}

/**
 * The size of each operation of a document. Each fragment is measured once, so that the time is linear in the
 * document's text, however fragments multiply. A fragment inside itself counts as nothing: validation refuses it.
 */
export function measureOperations(document: DocumentNode): OperationSize[] {
  const fragments = fragmentsOf(document);
  const measured = new Map<string, OperationSize>();

  function ofFragment(name: string): OperationSize {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, nothing);
    const fragment = fragments[name];
    const size = fragment === undefined ? nothing : sizeOf(fragment);
    measured.set(name, size);
    return size;
  }

  /** The size of the directives of a node and of its selection set. */
  function sizeOf({ directives = [], selectionSet }: Pick<FieldNode, 'directives' | 'selectionSet'>) {
    const size = { ...nothing, directives: directives.length };
    for (const node of selectionSet?.selections ?? []) {
      const isSpread = node.kind === 'FragmentSpread';
      const inside: OperationSize = isSpread ? ofFragment(node.name.value) : sizeOf(node);
      const field = node.kind === 'Field' ? node : null;
      size.depth = Math.max(size.depth, inside.depth + (field ? 1 : 0));
      size.fields += inside.fields + (field ? 1 : 0);
      size.rootFields += field ? 1 : inside.rootFields;
      size.rootAliases += field ? Number(field.alias !== undefined) : inside.rootAliases;
      size.aliases += inside.aliases + (field ? inside.rootAliases : 0);
      size.directives += inside.directives + (isSpread ? (node.directives?.length ?? 0) : 0);
      size.aliasLength = Math.max(size.aliasLength, inside.aliasLength, field?.alias?.value.length ?? 0);
    }
    return size;
  }

  return document.definitions.flatMap((node) => (node.kind === 'OperationDefinition' ? [sizeOf(node)] : []));
}
