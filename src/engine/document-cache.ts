import { hash } from 'node:crypto';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../bank/credentials.ts';
import { maxPlans, type PreparedOperation, prepareOperation } from '../executor/executor.ts';
import { fragmentsOf } from '../executor/selection.ts';
import { traceVariableCoercion } from '../executor/tracing.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import { type CallPlan, planCalls } from '../schema/call-plan.ts';
import type { Defaults } from '../schema/context.ts';
import { deferrableSchema } from '../schema/deferrable-schema.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { createCallLimit } from './call-limit.ts';
import { recordedSchema } from './call-recorder.ts';
import { truncate } from './mask-error.ts';
import { measureOperations } from './measure-document.ts';
import { createNodeIdCheck } from './node-id-limit.ts';
import type { PersistedDocuments } from './persisted-manifest.ts';
import { RequestError } from './request-error.ts';
import { createDocumentCheck, type DocumentRules } from './validation-rules.ts';

/** What becomes of the documents that are asked for, for metrics. */
export class DocumentCacheStats {
  hits = 0;
  misses = 0;
  /** Those that are kept until others take their room, and what they take in memory, about. */
  kept = 0;
  bytes = 0;
}

export interface DocumentCacheOptions extends DocumentRules {
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  /** What the others may take in memory with their plans, in bytes, about. */
  readonly documentCacheBytes: number;
  /** Documents that are never evicted; null for none. */
  readonly persisted: PersistedDocuments | null;
  /** Where it is counted what is found. One outlives each cache, of which there is a new one for each manifest. */
  readonly documentStats?: DocumentCacheStats | undefined;
  /** See prepareOperation; false where left out. */
  readonly isInterpreted?: boolean;
}

/** What documents are prepared with. */
type PrepareOptions = Omit<DocumentCacheOptions, 'documentCacheBytes' | 'persisted' | 'documentStats'>;

/** An operation of a document that has been checked. */
export interface ExecutableOperation extends PreparedOperation {
  readonly kind: OperationDefinitionNode['operation'];
  /** As its document names it; null where that does not. */
  readonly name: string | null;
  /** SHA-256 of the document's text, in hexadecimal. */
  readonly documentHash: string;
  /** Whether its document is one of the manifest's. */
  readonly isPersisted: boolean;
  /** The request's variables, coerced. Errors: BAD_USER_INPUT for the first that does not fit. */
  variablesOf(raw: Readonly<Record<string, unknown>>): GraphQLResolveInfo['variableValues'];
  /** Errors: LIMIT_EXCEEDED, see node-id-limit.ts. */
  checkNodeIds(variables: GraphQLResolveInfo['variableValues']): void;
  /** Errors: LIMIT_EXCEEDED, see call-limit.ts. */
  checkCallLimit(variables: GraphQLResolveInfo['variableValues'], credentials: Caller): void;
  /** What it costs: see call-plan.ts. */
  planCalls(variables: GraphQLResolveInfo['variableValues'], credentials: Caller): CallPlan;
  /** The same operation, with resolvers that report their path to the CallRecorder in their context. */
  recorded(): PreparedOperation;
}

/** Errors: BAD_USER_INPUT if the document has no such operation, or several and no name was given. */
type FindOperation = (name: string | null) => ExecutableOperation;

/** A document that was requested. */
interface CachedDocument {
  /** Its operations, or why it is refused. */
  readonly found: FindOperation | GraphQLError;
  /** The number of fields of its operations after expanding fragments: the size of a plan. */
  readonly fields: number;
}

/** The memory of a parsed document for each character of its text, and of a plan for each field. */
const characterBytes = 200;
const fieldBytes = 1200;

/**
 * Documents by their text, each parsed, checked and prepared once. Refused documents are cached too, so that the
 * same text is refused again at once. Bounded by the memory of the documents and their plans, with fragments
 * expanded.
 */
export function createDocumentCache({
  documentCacheBytes,
  persisted,
  documentStats: stats = new DocumentCacheStats(),
  ...options
}: DocumentCacheOptions) {
  const check = createDocumentCheck(options);
  const cache = new LRUCache<string, CachedDocument>({
    maxSize: documentCacheBytes,
    sizeCalculation: ({ fields }, text) =>
      characterBytes * (text.length + 1) + fieldBytes * fields * maxPlans,
  });
  const pinned = new Map<string, FindOperation>();
  for (const [text, document] of persisted?.parsed ?? [])
    pinned.set(text, prepare({ text, document, isPersisted: true }, options));

  const make = (text: string): CachedDocument => {
    try {
      const document = check(text);
      const fields = measureOperations(document).reduce((sum, size) => sum + size.fields, 0);
      return { found: prepare({ text, document, isPersisted: false }, options), fields };
    } catch (error) {
      if (error instanceof GraphQLError) return { found: error, fields: 0 };
      throw error;
    }
  };

  /** The operations of a document. Errors: GraphQLError, see validation-rules.ts. */
  return (text: string): FindOperation => {
    const forGood = pinned.get(text);
    if (forGood !== undefined) {
      stats.hits++;
      return forGood;
    }
    let known = cache.get(text);
    if (known !== undefined) stats.hits++;
    else {
      known = make(text);
      cache.set(text, known);
      stats.misses++;
      stats.kept = cache.size;
      stats.bytes = cache.calculatedSize;
    }
    const { found } = known;
    if (found instanceof GraphQLError) throw found;
    return found;
  };
}

/** A document that has been checked. */
interface CheckedDocument {
  readonly text: string;
  readonly document: DocumentNode;
  readonly isPersisted: boolean;
}

function prepare(checked: CheckedDocument, options: PrepareOptions): FindOperation {
  const { document } = checked;
  const operations = new Map<OperationDefinitionNode, ExecutableOperation>();
  return (name) => {
    const node = getOperationAST(document, name);
    if (!node) throw new RequestError('BAD_USER_INPUT', 'Could not determine what operation to execute.');
    let operation = operations.get(node);
    if (operation === undefined) {
      operation = prepareOne(checked, node, options);
      operations.set(node, operation);
    }
    return operation;
  };
}

/** A plan stops at this multiple of the calls that an operation may make. */
const planFactor = 10;

const noVariables = Object.freeze({ sources: Object.freeze({}), coerced: Object.freeze({}) });

function prepareOne(
  { text, document, isPersisted }: CheckedDocument,
  operation: OperationDefinitionNode,
  { schema = ownSchema, introspection, defaults, limits, isInterpreted = false }: PrepareOptions,
): ExecutableOperation {
  const hideSuggestions = !introspection;
  const definitions = operation.variableDefinitions ?? [];
  const fragments = fragmentsOf(document);
  const prepareWith = (observe: (schema: GraphQLSchema) => GraphQLSchema) =>
    prepareOperation({
      ...{ document, operation, hideSuggestions, isInterpreted },
      schema: observe(schema),
      incrementalSchema: observe(deferrableSchema(schema)),
    });
  const prepared = prepareWith((unobserved) => unobserved);
  const coerce = (raw: Readonly<Record<string, unknown>>) => {
    if (definitions.length === 0) return { variableValues: noVariables };
    // graphql would list up to 50 errors, each of which repeats the whole value.
    return getVariableValues(schema, definitions, raw, { maxErrors: 1, hideSuggestions });
  };
  let documentHash: string | null = null;
  return {
    ...prepared,
    kind: operation.operation,
    name: operation.name?.value ?? null,
    isPersisted,
    get documentHash() {
      documentHash ??= hash('sha256', text);
      return documentHash;
    },
    checkNodeIds: createNodeIdCheck({ schema, operation, fragments }),
    checkCallLimit: createCallLimit({ schema, operation, fragments, defaults, limits }),
    planCalls: (variableValues, credentials) =>
      planCalls({
        ...{ schema, operation, fragments, defaults, variableValues, credentials },
        maxCalls: planFactor * limits.restCalls,
      }),
    recorded: () => prepareWith(recordedSchema),
    variablesOf(raw) {
      const traced = { schema, document, operation, rawVariableValues: raw };
      const coerced = traceVariableCoercion(traced, () => coerce(raw));
      if (coerced.variableValues !== undefined) return coerced.variableValues;
      const [wrong] = coerced.errors;
      throw new RequestError('BAD_USER_INPUT', truncate(wrong?.message ?? 'A variable does not fit.'), {
        nodes: wrong?.nodes,
      });
    },
  };
}
