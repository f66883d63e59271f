import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
} from 'graphql';
import type { BankClient } from '../bank/client.ts';
import type { Caller } from '../bank/credentials.ts';
import { AnswerLimitError, type AnswerLimits } from '../executor/answer-budget.ts';
import type { PaymentService } from '../payments/service.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import type { Defaults } from '../schema/context.ts';
import { slices } from '../slices.ts';
import {
  type CallRecorder,
  callerNameOf,
  type EngineRequest,
  explainHeader,
  MutationEffects,
  RequestContext,
  type RequestServices,
} from './context.ts';
import { createDocumentCache, type DocumentCacheOptions, type ExecutableOperation } from './documents.ts';
import { internalError, maskError, RequestError } from './errors.ts';
import { jsonInSlices } from './json.ts';
import { BoundedResult, type BoundedResultOptions, finalIfItWrote, tooMuchBuilt } from './result.ts';

/** Where the documents of requests come from that name one instead of sending it (options/persisted-documents.ts). */
export interface DocumentSource {
  /** Whether no other documents are executed: a request must not send a text of its own. */
  readonly isOnly: boolean;
  /** Checked documents by their texts. */
  readonly parsed: ReadonlyMap<string, DocumentNode>;
  /** The text that a request names; null if it names none. Errors: those of a request that is refused. */
  textOf(params: Params): string | null;
  /** Called with a document that a request sent itself, after it has been checked. Errors: BAD_USER_INPUT. */
  noteChecked(query: string, extensions: Params['extensions']): void;
}

/** Answers requests that ask what an operation costs, by the header x-bankql-explain (options/explain). */
export interface ExplainOption {
  /** Shape: the answer, if the operation is not to be executed; otherwise how. Errors: BAD_USER_INPUT. */
  explain(
    header: string,
    asked: {
      readonly operation: ExecutableOperation;
      readonly variableValues: GraphQLResolveInfo['variableValues'];
      readonly credentials: Caller;
      readonly defaults: Defaults;
      readonly limits: OperationLimits;
    },
  ):
    | { readonly answer: ExecutionResult }
    | {
        readonly recorder: CallRecorder;
        /** The schema with resolvers that tell the recorder of themselves. */
        readonly observe: (schema: GraphQLSchema) => GraphQLSchema;
      };
}

/**
 * The form of several results, by the name that clients ask for it with: that of graphql 17, or that of 2022, in which
 * each result names its path.
 */
export type IncrementalForm = 'v0.2' | '20220824';

/** The results of an operation with @defer or @stream. */
export interface IncrementalResult {
  /**
   * The payloads in their order. An error that is thrown into the generator ends the operation: the next payload is the
   * last, replaces the one before, which is not sent, and says so; if an error is thrown at that one too, no payload
   * follows. Callers that take no more payloads call `return`. Never fails.
   */
  payloads(): AsyncGenerator<Payload, void, void>;
}

/** One of the results of an operation, as JSON. */
export interface Payload {
  readonly json: Buffer;
  readonly errors: readonly GraphQLError[];
  /** Whether it tells anything but errors. */
  readonly hasData: boolean;
}

/** What the engine provides to an incremental execution. */
export interface IncrementalOptions {
  readonly operation: ExecutableOperation;
  readonly context: RequestContext;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Adds what an explanation needs to a schema's resolvers. */
  readonly observe: (schema: GraphQLSchema) => GraphQLSchema;
  readonly form: IncrementalForm | undefined;
  /** The most bytes that the JSON of all payloads may have. */
  readonly maxBytes: number;
  readonly mask: (error: unknown) => GraphQLError;
  /** What the last payload adds. */
  readonly extensions: () => Readonly<Record<string, unknown>> | undefined;
  /** Creates the answer with this error instead of the data. */
  readonly withoutData: (error: unknown) => ExecutionResult;
}

/** Executes operations with @defer and @stream for clients that take several results (options/defer). */
export interface IncrementalOption {
  /** Whether the operation uses @defer or @stream. */
  isUsedBy(operation: ExecutableOperation): boolean;
  /** The limits of its answers. */
  limits(limits: AnswerLimits): AnswerLimits;
  /**
   * Shape:  an ordinary result if no @defer or @stream is in force.
   * Errors: BAD_USER_INPUT if an argument of @stream is invalid; nothing was executed.
   */
  execute(options: IncrementalOptions): Promise<ExecutionResult | IncrementalResult>;
}

export interface EngineOptions extends Omit<DocumentCacheOptions, 'pinned'> {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly answerLimits: AnswerLimits;
  /** Null (the default): requests send their documents. */
  readonly documentSource?: DocumentSource | null | undefined;
  /** Null (the default): requests that ask for an explanation are refused. */
  readonly explain?: ExplainOption | null | undefined;
  /** Null (the default): @defer and @stream are ignored. */
  readonly incremental?: IncrementalOption | null | undefined;
  /** Called with unexpected errors, to log them. */
  readonly unexpected: (error: unknown) => void;
}

/** The parameters of a request, as defined by GraphQL over HTTP. */
export interface Params {
  readonly query: string | null;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
  readonly extensions: Readonly<Record<string, unknown>> | null;
  /** The id of a persisted document. */
  readonly documentId: string | null;
}

/** The operation that a request asks for. */
interface OperationParams {
  /** The document's text. */
  readonly query: string;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The request's extensions; null if the text is not the request's own. */
  readonly extensions: Readonly<Record<string, unknown>> | null;
}

/** Incremental only if @defer or @stream is in force in the operation. */
export type EngineResult = ExecutionResult | IncrementalResult;

export const isIncrementalResult = (result: EngineResult): result is IncrementalResult =>
  'payloads' in result;

/**
 * Executes GraphQL requests, whatever HTTP handler calls it.
 *
 * It never throws and never rejects. An error says under `extensions.http` what the handler has to do with it
 * (server/response.ts); an answer that rests on what was read before says so under `extensions.stale`: `[{ operation,
 * ageSeconds }]`. An answer that is too large is only LIMIT_EXCEEDED; after a mutation its extensions say what was written or
 * paid (context.ts).
 */
export interface Engine {
  execute(rawParams: unknown, request: EngineRequest): ExecutionResult | Promise<ExecutionResult>;
  /** The same for a client that takes the several results of an operation with @defer or @stream. */
  executeIncrementally(
    rawParams: unknown,
    request: EngineRequest,
    form?: IncrementalForm,
  ): Promise<EngineResult>;
  /** The answer to a request that fails before its operation is known. */
  toErrorResult(error: unknown): ExecutionResult;
}

export function createEngine({
  bank,
  payments,
  documentSource = null,
  explain = null,
  incremental = null,
  unexpected,
  answerLimits,
  ...options
}: EngineOptions): Engine {
  const { defaults, limits } = options;
  const operationsOf = createDocumentCache({ ...options, pinned: documentSource?.parsed });
  const services: RequestServices = { bank, payments, defaults, limits, answerLimits };

  const mask = (error: unknown): GraphQLError => {
    try {
      return maskError(error, unexpected);
    } catch {
      // Even inspecting the error throws.
      return internalError();
    }
  };
  const toErrorResult = (error: unknown): ExecutionResult => ({
    errors: [mask(error), ...(error instanceof RequestError ? error.others : [])],
  });

  /** The answer to an operation whose data cannot be returned; its error's extensions say what a mutation did. */
  const withoutData = (cause: unknown, effects: MutationEffects | null): ExecutionResult => {
    const { message, extensions } = mask(cause);
    const error = new GraphQLError(message, { extensions: { ...extensions, ...effects?.extensions } });
    return { errors: [error], data: null };
  };

  /** The result as it is answered, with masked errors. */
  const conclude = (result: ExecutionResult, context: RequestContext) => {
    const { budget } = context;
    const { errors } = result;
    if (errors?.[0] instanceof AnswerLimitError) return end(errors[0], context);
    const { recorder } = context;
    const extensions = recorder === null && context.stale.length === 0 ? undefined : extensionsOf(context);
    const answer =
      errors === undefined && extensions === undefined
        ? result
        : {
            ...(errors === undefined ? {} : { errors: errors.map(mask) }),
            ...(result.data === undefined ? {} : { data: result.data }),
            ...(extensions === undefined ? {} : { extensions }),
          };
    const bounds = {
      maxBytes: answerLimits.bytes,
      audience: context,
      withoutData: (error: unknown) => withoutData(error, context.effects),
    };
    // Serializing more takes milliseconds.
    const isLong = budget.values > 10_000 || budget.bytes > 256 * 1024;
    return isLong ? concludeLong(answer, bounds, context) : new BoundedResult(answer, bounds);
  };

  /** The same for a large answer: it is serialized in chunks, when there is time. */
  async function concludeLong(
    answer: ExecutionResult,
    options: BoundedResultOptions,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    if (!slices.hasTime) await slices.wait(context);
    // The client has left.
    if (context.signal?.aborted) return { data: null };
    // Otherwise its JSON would be made, at the cost of the others, to be thrown away.
    if (!context.reserveRoom()) return new BoundedResult(answer, options).withoutRoom();
    try {
      const dataJson = await jsonInSlices(answer.data, options.maxBytes, { operation: context });
      const result = new BoundedResult(answer, { ...options, dataJson });
      return dataJson === null ? result.failed() : result;
    } catch (error) {
      return options.withoutData(error);
    }
  }

  /**
   * The answer to an operation that exceeded its limits: its reads are
   * cancelled; its writes and payments are awaited.
   */
  const end = (limit: AnswerLimitError, context: RequestContext) => {
    const { effects } = context;
    context.cancelReads();
    const ended = () => {
      if (!limit.isTemporary) return withoutData(limit, effects);
      return finalIfItWrote(withoutData(tooMuchBuilt(), effects));
    };
    return effects === null ? ended() : effects.settled().then(ended);
  };

  /** Errors: BAD_USER_INPUT, PERSISTED_DOCUMENT_REQUIRED. */
  function parseParams(rawParams: unknown): OperationParams {
    const params = checkParams(rawParams);
    const { query, operationName, variables, extensions } = params;
    const isOwn = query !== null && query !== '' && documentSource?.isOnly !== true;
    const text = isOwn || documentSource === null ? query : documentSource.textOf(params);
    if (text === null)
      throw new RequestError(
        'BAD_USER_INPUT',
        params.documentId === null
          ? 'A request needs a "query".'
          : 'A request needs a "query", because this server has no manifest of documents with ids.',
      );
    return {
      query: text,
      operationName,
      variables: variables ?? {},
      // Ids of a manifest need not be hashes of its texts.
      extensions: text === query ? extensions : null,
    };
  }

  /** What is executed, and in which context. Errors: why it is not. */
  function prepare(params: OperationParams, request: EngineRequest, takesIncremental: boolean) {
    const { query, operationName, extensions } = params;
    const operations = operationsOf(query);
    // Only now: a text that is refused takes no room.
    if (extensions !== null) documentSource?.noteChecked(query, extensions);
    const operation = operations.known.get(operationName) ?? operations.find(operationName);
    if (request.observation) request.observation.operation = operation;
    if (request.isReadOnly === true && operation.kind !== 'query')
      throw new RequestError('BAD_USER_INPUT', 'Send what changes something by POST.', {
        http: { status: 405, headers: { Allow: 'POST' } },
      });
    const variables = operation.constantVariables ?? operation.variablesOf(params.variables);
    operation.checkNodeIds?.(variables);
    const explained =
      request.explain === undefined ? null : explainOperation(request.explain, operation, variables, request);
    if (explained !== null && 'answer' in explained) return explained;
    operation.checkCalls?.(variables, request.credentials);
    const isIncremental = takesIncremental && incremental?.isUsedBy(operation) === true;
    const context = new RequestContext(
      isIncremental ? { ...services, answerLimits: incremental.limits(answerLimits) } : services,
      request,
      operation.kind === 'mutation' ? new MutationEffects(request.holder) : null,
      explained?.recorder ?? null,
    );
    const observe = explained?.observe;
    const prepared =
      observe === undefined ? operation.prepared : operation.preparedWith(observe(operation.schema));
    return { operation, prepared, observe, context, isIncremental, variables };
  }

  function explainOperation(
    header: string,
    operation: ExecutableOperation,
    variableValues: GraphQLResolveInfo['variableValues'],
    { credentials }: EngineRequest,
  ) {
    if (explain === null)
      throw new RequestError(
        'BAD_USER_INPUT',
        `${explainHeader} is switched off here; the operator switches it on with EXPLAIN=on.`,
      );
    return explain.explain(header, { operation, variableValues, credentials, defaults, limits });
  }

  function executeNow(params: OperationParams, request: EngineRequest) {
    // It may have waited.
    if (request.holder?.isAbandoned === true) return { data: null };
    try {
      const ready = prepare(params, request, false);
      if ('answer' in ready) return ready.answer;
      const { prepared, context, variables } = ready;
      const result = prepared.execute(context, variables, context);
      return result instanceof Promise
        ? result.then((settled) => conclude(settled, context))
        : conclude(result, context);
    } catch (error) {
      return toErrorResult(error);
    }
  }

  function execute(rawParams: unknown, request: EngineRequest) {
    let params: OperationParams;
    try {
      params = parseParams(rawParams);
    } catch (error) {
      return toErrorResult(error);
    }
    return slices.begin(callerNameOf(request), () => executeNow(params, request));
  }

  async function executeIncrementally(
    rawParams: unknown,
    request: EngineRequest,
    form?: IncrementalForm,
  ): Promise<EngineResult> {
    try {
      const params = parseParams(rawParams);
      await slices.begin(callerNameOf(request), () => {});
      if (request.holder?.isAbandoned === true) return { data: null };
      const ready = prepare(params, request, true);
      if ('answer' in ready) return ready.answer;
      const { operation, prepared, observe = asItIs, context, variables, isIncremental } = ready;
      if (!isIncremental || incremental === null)
        return await conclude(await prepared.execute(context, variables, context), context);
      const result = await incremental.execute({
        operation,
        context,
        variables: params.variables,
        observe,
        form,
        maxBytes: answerLimits.bytes,
        mask,
        extensions: () => extensionsOf(context),
        withoutData: (error) => withoutData(error, context.effects),
      });
      return isIncrementalResult(result) ? result : await conclude(result, context);
    } catch (error) {
      return toErrorResult(error);
    }
  }

  return { execute, executeIncrementally, toErrorResult };
}

const asItIs = (schema: GraphQLSchema) => schema;

/** The answer's extensions; undefined if there is nothing to report. */
function extensionsOf({ stale, recorder }: RequestContext): Readonly<Record<string, unknown>> | undefined {
  if (stale.length === 0 && recorder === null) return undefined;
  return {
    ...(stale.length === 0 ? {} : { stale }),
    ...(recorder === null ? {} : { explain: recorder.explanation }),
  };
}

/** The type that each member of a request must have, and the name of that type in errors. */
const members: Readonly<Record<string, readonly ['string' | 'object', string] | undefined>> = Object.assign(
  Object.create(null),
  {
    query: ['string', 'a text'],
    operationName: ['string', 'a text'],
    variables: ['object', 'an object'],
    extensions: ['object', 'an object'],
    documentId: ['string', 'a text'],
    doc_id: ['string', 'a text'],
  } satisfies Record<keyof Params | 'doc_id', unknown>,
);

/** Names by which other servers take a document's id. A request without a text that has one of them is refused by its name. */
export const foreignIdNames = [
  ...['id', 'queryId', 'query_id', 'operationId', 'docId', 'document_id', 'persistedQueryId'],
  ...['hash', 'sha256Hash'],
] as const;

/** Errors: BAD_USER_INPUT for a request without a text that names its document in a way that bankql does not know. */
function refuseForeignIds(given: Readonly<Record<string, unknown>>): void {
  const { extensions } = given as Partial<Params>;
  const persistedQuery = extensions?.persistedQuery;
  if (typeof Object(persistedQuery).sha256Hash === 'string') return;
  const name = foreignIdNames.find((each) => given[each] !== undefined && given[each] !== null);
  if (name !== undefined)
    throw new RequestError(
      'BAD_USER_INPUT',
      `A request needs a "query", or the id of a document as "documentId", not as "${name}".`,
    );
  if (persistedQuery !== undefined && persistedQuery !== null)
    throw new RequestError(
      'BAD_USER_INPUT',
      'extensions.persistedQuery needs a "sha256Hash" that is a text; or send the id of a document as "documentId".',
    );
}

/**
 * Checks a request's members.
 * Errors: BAD_USER_INPUT, which names the invalid member and repeats nothing of what was sent.
 */
export function checkParams(rawParams: unknown): Params {
  if (typeof rawParams !== 'object' || rawParams === null || Array.isArray(rawParams))
    throw new RequestError(
      'BAD_USER_INPUT',
      Array.isArray(rawParams)
        ? 'Batches are not served: send one operation at a time.'
        : 'A request is a JSON object with a "query".',
    );
  const given = rawParams as Readonly<Record<string, unknown>>;
  for (const name in given) {
    const value = given[name];
    if (value === null || value === undefined) continue;
    const member = members[name];
    // GraphQL over HTTP: a server ignores members that it does not know.
    if (member === undefined) continue;
    const [type, word] = member;
    if (typeof value !== type || Array.isArray(value))
      throw new RequestError('BAD_USER_INPUT', `"${name}" has to be ${word}, or left out.`);
  }
  const {
    query = null,
    operationName = null,
    variables = null,
    extensions = null,
    documentId,
    doc_id: relayId,
  } = given as Partial<Params> & { readonly doc_id?: string | null };
  const id = documentId || relayId || null;
  if (relayId && relayId !== id)
    throw new RequestError('BAD_USER_INPUT', '"documentId" and "doc_id" differ: send one of them.');
  if (!query && id === null) refuseForeignIds(given);
  return { query, operationName, variables, extensions, documentId: id };
}
