import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql';
import type { Caller } from '../bank/credentials.ts';
import {
  argumentsOf,
  collectFields,
  fragmentsOf,
  rootFieldsOf,
  type Selection,
} from '../executor/selection.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import { estimateCalls } from '../schema/call-estimate.ts';
import type { Defaults } from '../schema/context.ts';
import { fieldExtensionsOf, isPlanned, nullOnError } from '../schema/field-extensions.ts';
import { maxNodeIds } from '../schema/node.ts';
import { RequestError } from './errors.ts';

/** The limits of an operation: the size of its document, its calls, and the ids that it names. */

/** How large an operation may be; see DocumentSize. `tokens` counts those of the document's text. */
export interface DocumentLimits extends DocumentSize {
  readonly tokens: number;
}

const sizeWords: Readonly<Record<keyof DocumentSize, string>> = {
  depth: 'levels of fields',
  fields: 'fields',
  rootFields: 'fields at its root',
  aliases: 'aliases',
  directives: 'directives',
};

/** The maximum length of an alias in characters: the path of each error below it repeats it. */
const maxAliasLength = 128;

/** How many lines a document may have for each token of its limit, comments and empty lines included. */
const linesPerToken = 2;

/**
 * Parses a document's text.
 * Errors: GraphQLError for a syntax error; LIMIT_EXCEEDED for a text that is too long to be parsed, or an operation that is too
 *         large.
 */
export function parseWithin(text: string, limits: DocumentLimits): DocumentNode {
  try {
    // For the location of each error, graphql counts the lines before it.
    const maxLines = linesPerToken * limits.tokens;
    if (text.split(/\r\n|\r|\n/, maxLines + 1).length > maxLines)
      throw new RequestError('LIMIT_EXCEEDED', `The document holds more than ${maxLines} lines.`);
    const document = parse(text, { maxTokens: limits.tokens, allowEmptySelectionSets: false });
    checkSize(document, limits);
    return document;
  } catch (error) {
    // graphql tells this syntax error from others only by its message.
    if (error instanceof GraphQLError && error.message.includes('Parsing aborted'))
      throw new RequestError('LIMIT_EXCEEDED', `The document holds more than ${limits.tokens} tokens.`);
    throw error;
  }
}

/** Errors: GraphQLError where an operation of the document is too large. */
function checkSize(document: DocumentNode, limits: DocumentLimits): void {
  for (const size of measureOperations(document)) {
    if (size.aliasLength > maxAliasLength)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation holds an alias of ${size.aliasLength} characters, and one may have ${maxAliasLength}; use shorter names.`,
      );
    for (const [name, word] of Object.entries(sizeWords) as [keyof DocumentSize, string][]) {
      if (size[name] > limits[name])
        throw new RequestError(
          'LIMIT_EXCEEDED',
          `The operation holds ${size[name]} ${word}, and may hold ${limits[name]}; ask for less at a time.`,
        );
    }
  }
}

/** The size of an operation with its fragments expanded. */
interface DocumentSize {
  /** The longest path from the operation to a field, in fields. */
  readonly depth: number;
  readonly fields: number;
  readonly rootFields: number;
  readonly aliases: number;
  readonly directives: number;
}

/** What is measured for an operation. */
interface MeasuredSize extends DocumentSize {
  /** The characters of its longest alias, which an error's path repeats. */
  readonly aliasLength: number;
}

const nothing = {
  depth: 0,
  fields: 0,
  rootFields: 0,
  aliases: 0,
  directives: 0,
  aliasLength: 0,
};

/**
 * The size of each operation of a document. Each fragment is measured once, so that the time is linear in the
 * document's text, however fragments multiply. A fragment inside itself counts as nothing: validation refuses it.
 */
export function measureOperations(document: DocumentNode): MeasuredSize[] {
  const fragments = fragmentsOf(document);
  const measured = new Map<string, MeasuredSize>();

  function ofFragment(name: string): MeasuredSize {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, nothing);
    const fragment = fragments[name];
    const size = fragment === undefined ? nothing : sizeOf(fragment);
    measured.set(name, size);
    return size;
  }

  /** The directives of a node, and all that is selected in it. */
  function sizeOf({ directives = [], selectionSet }: Pick<FieldNode, 'directives' | 'selectionSet'>) {
    const size = { ...nothing, directives: directives.length };
    for (const node of selectionSet?.selections ?? []) {
      const isSpread = node.kind === 'FragmentSpread';
      const inside: MeasuredSize = isSpread ? ofFragment(node.name.value) : sizeOf(node);
      const field = node.kind === 'Field' ? node : null;
      size.depth = Math.max(size.depth, inside.depth + (field ? 1 : 0));
      size.fields += inside.fields + (field ? 1 : 0);
      size.rootFields += field ? 1 : inside.rootFields;
      size.aliases += inside.aliases + (field?.alias ? 1 : 0);
      size.directives += inside.directives + (isSpread ? (node.directives?.length ?? 0) : 0);
      size.aliasLength = Math.max(size.aliasLength, inside.aliasLength, field?.alias?.value.length ?? 0);
    }
    return size;
  }

  return document.definitions.flatMap((node) => (node.kind === 'OperationDefinition' ? [sizeOf(node)] : []));
}

interface CallLimitOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly defaults: Defaults;
  readonly limits: Pick<OperationLimits, 'restCalls'>;
}

/**
 * Refuses, before it runs, an operation that needs more REST calls than allowed: nothing is read, written or paid.
 * Planning stops at ten times the limit. As at run time, a payment itself is not counted, but other calls are. Null for
 * an operation that cannot reach the limit, whatever its variables.
 * Errors: the returned function throws LIMIT_EXCEEDED.
 */
export function createCallLimit(
  options: CallLimitOptions,
): ((variables: Selection['variableValues'], credentials: Caller) => void) | null {
  const { restCalls } = options.limits;
  if (maxCalls(options) <= restCalls) return null;
  return (variableValues, credentials) => {
    const calls = estimateCalls({ ...options, variableValues, credentials, maxCalls: 10 * restCalls });
    const counted = calls.filter(({ operation: { kind } }) => kind !== 'payment').length;
    if (counted > restCalls)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation needs at least ${counted} REST calls, and may make ${restCalls}; ask for less at a time.`,
      );
  };
}

/**
 * An upper bound of the calls that a plan can contain: two for a field that plans calls (its own, and one for the
 * record that it leads to), and infinitely many for a list.
 */
function maxCalls({ schema, operation, fragments }: CallLimitOptions): number {
  // Each fragment is counted once, however often it is nested.
  const ofFragments = new Map<string, number>();

  const ofFragment = (name: string): number => {
    const known = ofFragments.get(name);
    if (known !== undefined) return known;
    const fragment = fragments[name];
    const calls =
      fragment === undefined ? 0 : ofSelections(fragment, typeFromAST(schema, fragment.typeCondition));
    ofFragments.set(name, calls);
    return calls;
  };

  const ofSelections = (
    { selectionSet }: { readonly selectionSet?: SelectionSetNode | undefined },
    type: GraphQLType | null | undefined,
  ): number => {
    if (selectionSet === undefined || !isCompositeType(type)) return 0;
    let calls = 0;
    for (const node of selectionSet.selections) {
      if (node.kind === 'Field') {
        const field = schema.getField(type, node.name.value);
        if (field === undefined) continue;
        if (isPlanned(field)) calls += isListType(getNullableType(field.type)) ? Infinity : 2;
        calls += ofSelections(node, getNamedType(field.type));
      } else if (node.kind === 'FragmentSpread') {
        calls += ofFragment(node.name.value);
      } else {
        const { typeCondition } = node;
        calls += ofSelections(node, typeCondition === undefined ? type : typeFromAST(schema, typeCondition));
      }
    }
    return calls;
  };

  return ofSelections(operation, schema.getRootType(operation.operation));
}

/**
 * Refuses, before it runs, an operation whose `nodes` fields take more ids together than allowed. `nodes` is a
 * field of the root; ids in literals and in variables both count, each as often as it is given. A single such field
 * checks its own number. Null for an operation without `nodes`.
 * Errors: the returned function throws LIMIT_EXCEEDED.
 */
export function createNodeIdCheck({
  schema,
  fragments,
  operation,
}: Omit<CallLimitOptions, 'defaults' | 'limits'>): ((variables: Selection['variableValues']) => void) | null {
  const type = schema.getRootType(operation.operation);
  if (!type) return null;
  const fields = type.getFields();
  const takeIds = rootFieldsOf(operation, fragments).some(({ name: { value: name } }) => {
    const field = fields[name];
    return field !== undefined && fieldExtensionsOf(field).idCount !== undefined;
  });
  if (!takeIds) return null;
  return (variableValues) => {
    const selection = { schema, fragments, variableValues, fieldNodes: [operation] };
    let ids = 0;
    let lists = 0;
    for (const selected of collectFields(selection, type)) {
      const { idCount } = fieldExtensionsOf(selected.field);
      if (idCount === undefined) continue;
      lists++;
      // If the arguments are invalid, the field itself reports it.
      ids += nullOnError(() => idCount(argumentsOf(selected, selection) as never)) ?? 0;
    }
    if (lists > 1 && ids > maxNodeIds)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation asks for ${ids} nodes by their ids, and may ask for ${maxNodeIds}; ask for less at a time.`,
      );
  };
}
