import { type ExecutionResult, GraphQLError } from 'graphql';
import type { BankClient } from '../bank/client.ts';
import { type AnswerBudget, AnswerLimitError } from '../executor/answer-budget.ts';
import type { IncrementalForm, IncrementalResults } from '../executor/graphql-js-fallback.ts';
import { schedule } from '../executor/scheduler.ts';
import type { PaymentService } from '../payments/service.ts';
import { type AnswerLimits, defaultAnswerLimits, incrementalLimits } from './answer-limits.ts';
import { type AutomaticPersistedQueries, keepAutomaticText } from './automatic-persisted-queries.ts';
import { BoundedResult, type BoundedResultOptions } from './bounded-result.ts';
import { CallRecorder } from './call-recorder.ts';
import { createDocumentCache, type DocumentCacheOptions } from './document-cache.ts';
import { parseExplain, planResult } from './explain.ts';
import { IncrementalResult } from './incremental-result.ts';
import { jsonInTurns } from './json-in-turns.ts';
import { internalError, maskError } from './mask-error.ts';
import { MutationEffects } from './mutation-effects.ts';
import { documentTextOf, type Persisted } from './persisted-documents.ts';
import { type EngineRequest, RequestContext, type RequestServices } from './request-context.ts';
import { RequestError } from './request-error.ts';
import { validateParams } from './validate-params.ts';

export type { EngineRequest } from './request-context.ts';

export interface EngineOptions extends Omit<DocumentCacheOptions, 'persisted'> {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly persisted?: Persisted | null | undefined;
  /** Keeps texts that are sent with their hashes; null if none are kept. */
  readonly automatic?: AutomaticPersistedQueries | null | undefined;
  /** 100,000 values and 16 MB if left out. */
  readonly answerLimits?: AnswerLimits;
  /** Whether requests may ask for their plan or their calls; false if left out. */
  readonly explains?: boolean;
  /** Called with unexpected errors, to log them. */
  readonly unexpected: (error: unknown) => void;
}

/** The operation that a request asks for. */
export interface OperationParams {
  /** The document's text. */
  readonly query: string;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The request's extensions; null if the text is not the request's own. */
  readonly extensions: Readonly<Record<string, unknown>> | null;
}

/** Incremental only if @defer or @stream is in force in the operation. */
export type EngineResult = ExecutionResult | IncrementalResult;

/**
 * Executes GraphQL requests; all HTTP handlers call it, and none has rules of its own.
 *
 * It never throws and never rejects. An error says under `extensions.http` what the handler has to do with it (server/response.ts); an answer
 * that rests on what was read before says so under `extensions.stale`: `[{ operation, ageSeconds }]`. An answer that is
 * too large is LIMIT_EXCEEDED alone; after a mutation its extensions say what was written or paid (mutation-effects.ts).
 */
export interface Engine {
  execute(rawParams: unknown, request: EngineRequest): ExecutionResult | Promise<ExecutionResult>;
  /** The same for a client that takes the several results of an operation with @defer or @stream. */
  executeIncrementally(
    rawParams: unknown,
    request: EngineRequest,
    form?: IncrementalForm,
  ): Promise<EngineResult>;
  /**
   * The first half of `execute`, for a handler with steps of its own in between: checks the request's members and
   * replaces a document id by the document's text. The only method that throws.
   * Errors: BAD_USER_INPUT, PERSISTED_DOCUMENT_REQUIRED.
   */
  parseParams(rawParams: unknown): OperationParams;
  /** The second half: executes what was parsed. */
  executeParams(params: OperationParams, request: EngineRequest): ExecutionResult | Promise<ExecutionResult>;
  /** The answer to a request that fails before its operation is known. */
  toErrorResult(error: unknown): ExecutionResult;
}

export function createEngine({
  bank,
  payments,
  persisted = null,
  automatic = null,
  unexpected,
  explains = false,
  answerLimits = defaultAnswerLimits,
  ...options
}: EngineOptions): Engine {
  const { defaults, limits } = options;
  const documentOf = createDocumentCache({ ...options, persisted: persisted?.documents ?? null });
  const services: RequestServices = { bank, payments, defaults, limits, answerLimits };
  const incrementalServices = { ...services, answerLimits: incrementalLimits(answerLimits) };

  const mask = (error: unknown): GraphQLError => {
    try {
      return maskError(error, unexpected);
    } catch {
      // Even inspecting the error throws.
      return internalError();
    }
  };
  const toErrorResult = (error: unknown): ExecutionResult => ({ errors: [mask(error)] });

  /** The answer to an operation whose data cannot be returned; its error's extensions say what a mutation did. */
  const withoutData = (cause: unknown, effects: MutationEffects | null): ExecutionResult => {
    const { message, extensions } = mask(cause);
    const error = new GraphQLError(message, { extensions: { ...extensions, ...effects?.extensions } });
    return { errors: [error], data: null };
  };

  const finish = (result: ExecutionResult, context: RequestContext) => {
    const { effects, budget } = context;
    const { errors, data } = result;
    const extensions = extensionsOf(context);
    const told: ExecutionResult = {
      ...(errors === undefined ? {} : { errors: errors.map(mask) }),
      ...(data === undefined ? {} : { data }),
      ...(extensions === undefined ? {} : { extensions }),
    };
    const { isPublic } = context;
    const options = {
      maxBytes: answerLimits.bytes,
      isPublic,
      isCacheable: isPublic && context.hasRead,
      withoutData: (error: unknown) => withoutData(error, effects),
    };
    return isLong(budget) ? finishInTurn(told, options, context) : new BoundedResult(told, options);
  };

  /** The same for a large answer: it is serialized in chunks, in its turns. */
  async function finishInTurn(
    told: ExecutionResult,
    options: BoundedResultOptions,
    context: RequestContext,
  ): Promise<ExecutionResult> {
    await new Promise<void>(schedule);
    // The client has left.
    if (context.isAbandoned()) return { data: null };
    // Otherwise its JSON would be made, at the cost of the others, to be thrown away.
    if (!context.reserveRoom()) return new BoundedResult(told, options).withoutRoom();
    try {
      const dataJson = await jsonInTurns(told.data, options.maxBytes);
      const answer = new BoundedResult(told, { ...options, dataJson });
      return dataJson === null ? answer.failed() : answer;
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
    if (effects === null) return withoutData(limit, null);
    return effects.settled().then(() => withoutData(limit, effects));
  };

  const conclude = (result: ExecutionResult, context: RequestContext) => {
    const [first] = result.errors ?? [];
    return first instanceof AnswerLimitError ? end(first, context) : finish(result, context);
  };

  const incremental = (execution: IncrementalResults, context: RequestContext) =>
    new IncrementalResult(execution, {
      maxBytes: answerLimits.bytes,
      mask,
      exceeded: () => context.budget.exceeded,
      cancel: () => context.cancelReads(),
      extensions: () => extensionsOf(context),
      withoutData: (error) => withoutData(error, context.effects),
    });

  function parseParams(rawParams: unknown): OperationParams {
    const params = validateParams(rawParams);
    const query = documentTextOf(params, persisted, automatic);
    if (query === null) throw new RequestError('BAD_USER_INPUT', 'A request needs a "query".');
    const { operationName, variables, extensions } = params;
    // Ids of a manifest need not be hashes of its texts.
    return {
      ...{ query, operationName, variables: variables ?? {} },
      extensions: query === params.query ? extensions : null,
    };
  }

  /** What is executed, and in which context. Errors: why it is not. */
  function prepare(params: OperationParams, request: EngineRequest, takesIncremental = false) {
    const { query, operationName, variables: raw } = params;
    const findOperation = documentOf(query);
    // Only now: a text that is refused takes no room.
    if (automatic !== null) keepAutomaticText(params, automatic);
    const operation = findOperation(operationName);
    if (request.observation) request.observation.operation = operation;
    if (request.isReadOnly === true && operation.kind !== 'query')
      throw new RequestError('BAD_USER_INPUT', 'Send what changes something by POST.', {
        http: { status: 405, headers: { Allow: 'POST' } },
      });
    const values = operation.variablesOf(raw);
    operation.checkNodeIds(values);
    const explain = parseExplain(request.explain, explains);
    if (explain === 'plan') return planResult(operation.planCalls(values, request.credentials));
    operation.checkCallLimit(values, request.credentials);
    const effects = operation.kind === 'mutation' ? new MutationEffects() : null;
    const recorder = explain === 'calls' ? new CallRecorder() : null;
    const isIncremental = takesIncremental && operation.isIncremental;
    const serving = isIncremental ? incrementalServices : services;
    const context = new RequestContext(serving, request, effects, recorder);
    const prepared = recorder === null ? operation : operation.recorded();
    return { prepared, context, isIncremental, variables: { raw, values } };
  }

  function executeParams(params: OperationParams, request: EngineRequest) {
    try {
      const ready = prepare(params, request);
      if (!('prepared' in ready)) return ready;
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
    return executeParams(params, request);
  }

  async function executeIncrementally(
    rawParams: unknown,
    request: EngineRequest,
    form?: IncrementalForm,
  ): Promise<EngineResult> {
    try {
      const ready = prepare(parseParams(rawParams), request, true);
      if (!('prepared' in ready)) return ready;
      const { prepared, context, isIncremental, variables } = ready;
      const result = await (isIncremental
        ? prepared.executeIncrementally(context, variables, context.budget, form)
        : prepared.execute(context, variables, context));
      return 'initialResult' in result ? incremental(result, context) : await conclude(result, context);
    } catch (error) {
      return toErrorResult(error);
    }
  }

  return { execute, executeIncrementally, parseParams, executeParams, toErrorResult };
}

/** What is told beside the data; undefined if there is nothing to tell. */
function extensionsOf({ stale, recorder }: RequestContext): Readonly<Record<string, unknown>> | undefined {
  if (stale.length === 0 && recorder === null) return undefined;
  return {
    ...(stale.length === 0 ? {} : { stale }),
    ...(recorder === null ? {} : { explain: recorder.explanation }),
  };
}

/** Whether serializing the answer takes milliseconds. */
const isLong = ({ values, bytes }: AnswerBudget) => values > 10_000 || bytes > 256 * 1024;
