import type { ExecutionResult } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { BankClient } from '../bank/client.ts';
import type { AnswerLimits } from '../executor/answer-budget.ts';
import { slices } from '../load/slices.ts';
import type { PaymentService } from '../payments/service.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import type { Defaults } from '../schema/context.ts';
import { schema as ownSchema } from '../schema/schema.ts';
import type { EngineRequest } from './operation-context.ts';
import type { BankqlPlugin, PluginContext } from './plugin-context.ts';
import { useBoundedAnswers } from './use-bounded-answers.ts';
import { type DocumentsOptions, useDocuments } from './use-documents.ts';
import { useExecution } from './use-execution.ts';
import { createMaskError, maskedErrors } from './use-masked-errors.ts';

export interface YogaOptions extends DocumentsOptions {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  readonly answerLimits: AnswerLimits;
  /** Whether requests may ask for an explanation (default: they are refused). */
  readonly explains?: boolean | undefined;
  /** Further plugins of yoga or Envelop. They see each operation, whichever way it is served. */
  readonly plugins?: readonly (Plugin | BankqlPlugin)[] | undefined;
  /** Called with unexpected errors, to log them. */
  readonly unexpected: (error: unknown) => void;
}

/** The result of an operation, or the several ones of an operation with @defer, each with its JSON. */
export type Results = ExecutionResult | AsyncIterable<{ stringify(): string }>;

/** The part of a Fetch request that plugins read. */
type PluginRequest = Pick<Request, 'method' | 'url'> & {
  readonly headers: Pick<Headers, 'get' | 'has'>;
};

/** How operations are executed: the plugins of a yoga server, one for each step. */
export function createBankqlYoga(options: YogaOptions) {
  const { bank, payments, answerLimits, defaults, limits, schema = ownSchema } = options;
  const { explains = false, plugins = [], unexpected } = options;
  const mask = createMaskError(unexpected);
  const yoga = createYoga<PluginContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // Node's own classes: servers in which bankql is mounted expect them.
    fetchAPI: { Request, Response, Headers, ReadableStream, TextEncoder },
    landingPage: false,
    graphiql: false,
    // The door does this for both lanes (rules.ts).
    cors: false,
    batching: false,
    multipart: false,
    maxRequestBodySize: false,
    // The cache of use-documents also keeps refusals and plans, and bounds the memory of them all.
    parserAndValidationCache: false,
    logging: false,
    maskedErrors: maskedErrors(mask),
    plugins: [
      useDocuments(options, mask),
      useExecution({ bank, payments, defaults, limits, answerLimits }, explains, mask),
      ...plugins,
      useBoundedAnswers(answerLimits.bytes, mask),
    ],
  });

  /** The answer to a request that fails before its operation is known. */
  const toErrorResult = (error: unknown): ExecutionResult => ({ errors: mask.all(error) });

  /**
   * Executes the requested operation without Fetch's objects. It never throws and never rejects. An error's
   * `extensions.http` is for the handler (respond.ts). An answer with older data has
   * `extensions.stale`. An answer that is too large is only LIMIT_EXCEEDED; after a mutation, the error's extensions say what
   * was written or paid.
   */
  function execute(
    params: unknown,
    asking: EngineRequest & { readonly incremental?: undefined },
    request?: PluginRequest,
  ): ExecutionResult | Promise<ExecutionResult>;
  function execute(
    params: unknown,
    asking: EngineRequest,
    request: PluginRequest,
  ): Results | Promise<Results>;
  function execute(
    params: unknown,
    asking: EngineRequest,
    request: PluginRequest = withoutHttp,
  ): Results | Promise<Results> {
    return slices.begin(asking.credentials.caller, () => {
      // The operation may have waited.
      if (asking.holder?.isAbandoned === true) return { data: null };
      try {
        const result = yoga.getResultForParams({ params: params as object, request: request as Request }, {
          asking,
        } as never);
        return result instanceof Promise ? result.then(asResults, toErrorResult) : asResults(result);
      } catch (error) {
        return toErrorResult(error);
      }
    });
  }

  return { execute, toErrorResult };
}

const withoutHttp: PluginRequest = { method: 'POST', url: 'http://bankql/graphql', headers: new Headers() };

const asResults = (results: unknown) => results as Results;
