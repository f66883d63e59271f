import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { mostPlans, type PreparedOperation, prepareOperation } from '../executor/executor.ts';
import { fragmentsOf } from '../executor/selection.ts';
import type { Defaults, OperationLimits } from '../schema/context.ts';
import { schema } from '../schema/schema.ts';
import { createCallCheck } from './call-plan.ts';
import { createDocumentCheck, type DocumentRules } from './document-rules.ts';
import { sizesOf } from './document-size.ts';
import { bounded } from './mask-error.ts';
import { createNodeIdCheck } from './node-id-limit.ts';
import type { PersistedDocuments } from './persisted-manifest.ts';
import { Refusal } from './refusal.ts';

export interface DocumentOptions extends DocumentRules {
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  /** Documents that are kept for good; null for none. */
  readonly persisted: PersistedDocuments | null;
  /** See prepareOperation; false where left out. */
  readonly isInterpreted?: boolean;
}

/** An operation of a document that has been checked. */
export interface Operation extends PreparedOperation {
  readonly kind: OperationDefinitionNode['operation'];
  /** The request's variables, coerced. Errors: BAD_USER_INPUT for the first that does not fit. */
  variablesOf(raw: Readonly<Record<string, unknown>>): GraphQLResolveInfo['variableValues'];
  /** Errors: LIMIT_EXCEEDED, see node-id-limit.ts. */
  checkNodeIds(variables: GraphQLResolveInfo['variableValues']): void;
  /** Errors: LIMIT_EXCEEDED, see call-plan.ts. */
  checkCalls(variables: GraphQLResolveInfo['variableValues']): void;
}

/** Errors: BAD_USER_INPUT where the document has no such operation, or several and none is named. */
type FindOperation = (name: string | null) => Operation;

/** A document that was asked for. */
interface Kept {
  /** Its operations, or why it is refused. */
  readonly found: FindOperation | GraphQLError;
  /** How many fields its operations have with their fragments put in: what a plan holds. */
  readonly fields: number;
}

/** How much memory kept documents may take, about. */
const keptBytes = 64 * 1024 * 1024;
/** What a document takes parsed, for each character of its text, and what a field of a plan takes. */
const characterBytes = 200;
const fieldBytes = 1200;

/**
 * Documents by their text, each parsed, checked and prepared once. Those that are refused are kept as well: the same
 * text is refused again in no time. Bounded by the memory that they take with their plans, whatever their fragments
 * multiply to.
 */
export function createDocuments({ persisted, ...options }: DocumentOptions) {
  const check = createDocumentCheck(options);
  const kept = new LRUCache<string, Kept>({
    maxSize: keptBytes,
    sizeCalculation: ({ fields }, text) =>
      characterBytes * (text.length + 1) + fieldBytes * fields * mostPlans,
  });
  const pinned = new Map<string, FindOperation>();
  for (const [text, document] of persisted?.parsed ?? []) pinned.set(text, prepare(document, options));

  const make = (text: string): Kept => {
    try {
      const document = check(text);
      const fields = sizesOf(document).reduce((sum, size) => sum + size.fields, 0);
      return { found: prepare(document, options), fields };
    } catch (error) {
      if (error instanceof GraphQLError) return { found: error, fields: 0 };
      throw error;
    }
  };

  /** The operations of a document. Errors: GraphQLError, see document-rules.ts. */
  return (text: string): FindOperation => {
    const forGood = pinned.get(text);
    if (forGood !== undefined) return forGood;
    let known = kept.get(text);
    if (known === undefined) {
      known = make(text);
      kept.set(text, known);
    }
    const { found } = known;
    if (found instanceof GraphQLError) throw found;
    return found;
  };
}

function prepare(document: DocumentNode, options: Omit<DocumentOptions, 'persisted'>): FindOperation {
  const operations = new Map<OperationDefinitionNode, Operation>();
  return (name) => {
    const node = getOperationAST(document, name);
    if (!node) throw new Refusal('BAD_USER_INPUT', 'Could not determine what operation to execute.');
    let operation = operations.get(node);
    if (operation === undefined) {
      operation = prepareOne(document, node, options);
      operations.set(node, operation);
    }
    return operation;
  };
}

const noVariables = Object.freeze({ sources: Object.freeze({}), coerced: Object.freeze({}) });

function prepareOne(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  { introspection, defaults, limits, isInterpreted = false }: Omit<DocumentOptions, 'persisted'>,
): Operation {
  const hideSuggestions = !introspection;
  const definitions = operation.variableDefinitions ?? [];
  const fragments = fragmentsOf(document);
  return {
    ...prepareOperation({ schema, document, operation, hideSuggestions, isInterpreted }),
    kind: operation.operation,
    checkNodeIds: createNodeIdCheck({ schema, operation, fragments }),
    checkCalls: createCallCheck({ schema, operation, fragments, defaults, limits }),
    variablesOf(raw) {
      if (definitions.length === 0) return noVariables;
      // graphql would list up to 50 errors, each of which repeats the whole value.
      const { errors, variableValues } = getVariableValues(schema, definitions, raw, {
        maxErrors: 1,
        hideSuggestions,
      });
      if (variableValues !== undefined) return variableValues;
      const [wrong] = errors;
      throw new Refusal('BAD_USER_INPUT', bounded(wrong?.message ?? 'A variable does not fit.'), {
        nodes: wrong?.nodes,
      });
    },
  };
}
