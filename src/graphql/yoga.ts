import type { ExecutionResult, GraphQLSchema } from 'graphql';
import {
  createYoga,
  type GraphQLParams,
  isAsyncIterable,
  type Plugin,
  type YogaInitialContext,
} from 'graphql-yoga';
import type { BankClient } from '../bank/client.ts';
import type { AnswerLimits } from '../executor/answer-limits.ts';
import { execute as executePrepared } from '../executor/execute.ts';
import { slices } from '../load/slices.ts';
import type { PaymentService } from '../payments/service.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import type { Defaults } from '../schema/context.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import { executeDeferred } from './deferred-results.ts';
import { type DocumentCacheOptions, Documents, type ExecutableOperation } from './documents.ts';
import { createMaskError, internalError } from './errors.ts';
import { observedBy, recorderFor } from './explain-calls.ts';
import { OperationContext, type OperationRequest } from './operation-context.ts';
import { type Persisted, parseParams } from './params.ts';
import { boundedResult, type Result } from './result.ts';
import { type BankqlPlugin, useBoundedResults, usePipeline, type YogaContext } from './use-pipeline.ts';

export interface YogaOptions extends Omit<DocumentCacheOptions, 'pinned'> {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  /** The schema that is served; by default the one that schema.graphql shows. */
  readonly schema?: GraphQLSchema;
  readonly limits: OperationLimits;
  readonly answerLimits: AnswerLimits;
  /** Documents that requests may name by an id. Null (the default): requests must send their documents. */
  readonly persisted?: Persisted | null | undefined;
  /** Whether requests may ask for an explanation (default: they are refused). */
  readonly explains?: boolean | undefined;
  /**
   * Plugins of yoga or Envelop. Their hooks for operations are called for each operation; their hooks for HTTP are never called.
   */
  readonly plugins?: readonly (Plugin | BankqlPlugin)[] | undefined;
  /** Called with unexpected errors, to log them. */
  readonly unexpected: (error: unknown) => void;
}

/** The part of a Fetch request that plugins read. */
export type FetchRequestPart = Pick<Request, 'method' | 'url'> & {
  readonly headers: Pick<Headers, 'get' | 'has'>;
};

/** bankql's yoga server, and the steps of an operation in it. */
export function createBankqlYoga(options: YogaOptions) {
  const { schema = ownSchema, persisted = null, explains = false, plugins = [] } = options;
  const mask = createMaskError(options.unexpected);
  const services = { ...options, mask };
  const documents = new Documents({ ...options, pinned: persisted?.documents.parsed });

  /**
   * All steps of an operation: parameters, document, variables, execution and answer. If there are plugins, yoga's pipeline
   * takes the same steps, with their hooks in between (use-pipeline.ts).
   * Errors: those of each step.
   */
  function executeParams({ params, context }: { params: GraphQLParams; context: YogaContext }) {
    const { bankql } = context;
    const document = documents.parse(params.query ?? '');
    const operation = bankql.operationIn(document, params.operationName);
    const errors = document.violationsIn(schema);
    if (errors.length > 0) return { errors };
    bankql.note(operation);
    const result = executeOperation(operation, schema, params.variables ?? {}, context);
    return result instanceof Promise
      ? result.then((settled) => answerOf(settled, bankql))
      : answerOf(result, bankql);
  }

  /** Errors: BAD_USER_INPUT for invalid variables, and for a request that may not ask for its calls. */
  function executeOperation(
    operation: ExecutableOperation,
    executed: GraphQLSchema,
    rawVariables: Readonly<Record<string, unknown>>,
    context: YogaContext,
  ): Result | Promise<Result> {
    const { bankql } = context;
    const recorder = recorderFor(bankql.request.explain, explains);
    bankql.begin(operation, recorder);
    const variables = operation.variablesOf(executed, rawVariables);
    const prepared =
      recorder === null ? operation.preparedFor(executed) : operation.prepare(observedBy(recorder, executed));
    return bankql.request.incremental !== undefined && operation.usesIncremental
      ? executeDeferred(prepared, variables, context, mask)
      : executePrepared(prepared, context, variables, bankql);
  }

  /** The answer that is sent: with its extensions, with masked errors, and within its limits. */
  function answerOf(result: Result, bankql: OperationContext): Result | Promise<Result> {
    if (isAsyncIterable(result)) return result;
    const concluded = bankql.conclude(result);
    return concluded instanceof Promise
      ? concluded.then((settled) => boundedResult(masked(settled), bankql))
      : boundedResult(masked(concluded), bankql);
  }

  const masked = (result: ExecutionResult): ExecutionResult =>
    result.errors === undefined ? result : { ...result, errors: result.errors.map(mask) };

  /** The answer to a request that fails before its operation is executed. */
  const toErrorResult = (error: unknown): ExecutionResult => ({ errors: [mask(error)] });

  const useParams: BankqlPlugin = {
    onParams({ params, context, setParams, setParamsHandler }) {
      setParams(parseParams(params, persisted));
      const { activity } = context.bankql.request;
      if (activity) activity.hasText = Boolean(params.query);
      if (plugins.length === 0) setParamsHandler(executeParams);
    },
  };

  const yoga = createYoga<YogaContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // Node's own Fetch classes, which plugins see.
    fetchAPI: { Request, Response, Headers, ReadableStream, TextEncoder },
    landingPage: false,
    graphiql: false,
    // http/rules.ts handles CORS.
    cors: false,
    batching: false,
    multipart: false,
    maxRequestBodySize: false,
    // yoga's own cache is off, because the cache of documents.ts also keeps refusals and plans, and bounds
    // the memory of all.
    parserAndValidationCache: false,
    logging: false,
    maskedErrors: { errorMessage: internalError().message, isDev: false, maskError: mask },
    plugins: [
      useParams,
      ...(plugins.length === 0
        ? []
        : [usePipeline(documents, executeOperation), ...plugins, useBoundedResults()]),
    ],
  });

  function resultOf(params: unknown, request: OperationRequest, fetchRequest: FetchRequestPart) {
    // If the client has left while the operation waited, nothing is executed.
    if (request.holder?.isAbandoned === true) return { data: null };
    const payload = { params: params as GraphQLParams, request: fetchRequest as Request };
    const context = { bankql: new OperationContext(services, request) };
    try {
      const result = yoga.getResultForParams(payload, context as YogaInitialContext & YogaContext);
      return result instanceof Promise ? result.then(asResult, toErrorResult) : asResult(result);
    } catch (error) {
      return toErrorResult(error);
    }
  }

  /**
   * Executes the requested operation. It never throws and never rejects. An error's `extensions.http` is for the handler
   * (http/respond.ts). An answer with older data has `extensions.stale`. The error LIMIT_EXCEEDED replaces an answer that is
   * too large; after a mutation, the error's extensions say what was written or paid.
   */
  function execute(
    params: unknown,
    request: OperationRequest & { readonly incremental?: undefined },
    fetchRequest?: FetchRequestPart,
  ): ExecutionResult | Promise<ExecutionResult>;
  function execute(
    params: unknown,
    request: OperationRequest,
    fetchRequest: FetchRequestPart,
  ): Result | Promise<Result>;
  function execute(
    params: unknown,
    request: OperationRequest,
    fetchRequest: FetchRequestPart = withoutHttp,
  ): Result | Promise<Result> {
    return slices.begin(request.credentials.caller, () => resultOf(params, request, fetchRequest));
  }

  return { execute, toErrorResult };
}

const withoutHttp: FetchRequestPart = {
  method: 'POST',
  url: 'http://bankql/graphql',
  headers: new Headers(),
};

const asResult = (result: unknown) => result as Result;
