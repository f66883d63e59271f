import { type ExecutionResult, GraphQLError } from 'graphql';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { AnswerBudget, AnswerLimitError } from '../executor/answer-budget.ts';
import type { ExecuteOptions } from '../executor/executor.ts';
import type { PaymentService } from '../payments/service.ts';
import { BankSession, type StaleAnswer } from '../schema/bank-session.ts';
import type { Context, Defaults } from '../schema/context.ts';
import { type AnswerLimits, defaultAnswerLimits } from './answer-limits.ts';
import { BoundedResult } from './bounded-result.ts';
import { createDocumentCache, type DocumentCacheOptions } from './document-cache.ts';
import { internalError, maskError } from './mask-error.ts';
import { MutationEffects } from './mutation-effects.ts';
import type { OperationObservation } from './operation-observation.ts';
import { documentTextOf, type Persisted } from './persisted-documents.ts';
import { RequestError } from './request-error.ts';
import { validateParams } from './validate-params.ts';

export interface EngineOptions extends Omit<DocumentCacheOptions, 'persisted'> {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly persisted?: Persisted | null | undefined;
  /** 100,000 values and 16 MB where they are left out. */
  readonly answerLimits?: AnswerLimits;
  /** Is told of what should not happen, for the log. */
  readonly unexpected: (error: unknown) => void;
}

/** Who asks, and how. */
export interface EngineRequest {
  readonly credentials: Credentials;
  /** Makes the signal that is raised when the client has left, for who needs one. */
  readonly signal?: (() => AbortSignal) | undefined;
  /** A request that a browser makes without being asked, such as a link: it changes nothing. */
  readonly isReadOnly?: boolean;
  /** Where it is noted what is done for it; nobody is told where it is left out. */
  readonly observation?: OperationObservation | null | undefined;
}

/**
 * Answers GraphQL, whatever brings the request: every handler calls it, and none has rules of its own.
 *
 * It never throws and never rejects. An error says under `extensions.http` what the handler has to do with it (http-response.ts); an answer
 * that rests on what was read before says so under `extensions.stale`: `[{ operation, ageSeconds }]`. An answer that is
 * too large is LIMIT_EXCEEDED alone; after a mutation its extensions say what was written or paid (mutation-effects.ts).
 */
export interface Engine {
  execute(rawParams: unknown, request: EngineRequest): ExecutionResult | Promise<ExecutionResult>;
  /** The answer to a request that fails before it is known what it asks for. */
  toErrorResult(error: unknown): ExecutionResult;
}

export function createEngine({
  bank,
  payments,
  persisted = null,
  unexpected,
  answerLimits = defaultAnswerLimits,
  ...options
}: EngineOptions): Engine {
  const { defaults, limits } = options;
  const documentOf = createDocumentCache({ ...options, persisted: persisted?.documents ?? null });
  const services: Services = { bank, payments, defaults, limits, answerLimits };

  const mask = (error: unknown): GraphQLError => {
    try {
      return maskError(error, unexpected);
    } catch {
      // It cannot even be looked at.
      return internalError();
    }
  };
  const toErrorResult = (error: unknown): ExecutionResult => ({ errors: [mask(error)] });

  /** The answer to an operation whose data cannot be shown, with what it did in its error's extensions. */
  const withoutData = (cause: unknown, effects: MutationEffects | null): ExecutionResult => {
    const { message, extensions } = mask(cause);
    const error = new GraphQLError(message, { extensions: { ...extensions, ...effects?.extensions } });
    return { errors: [error], data: null };
  };

  const finish = (result: ExecutionResult, context: RequestContext): ExecutionResult => {
    const { stale, effects, budget } = context;
    const { errors, data } = result;
    const told: ExecutionResult = {
      ...(errors === undefined ? {} : { errors: errors.map(mask) }),
      ...(data === undefined ? {} : { data }),
      ...(stale.length === 0 ? {} : { extensions: { stale } }),
    };
    return new BoundedResult(told, {
      maxBytes: answerLimits.bytes,
      isLong: isLong(budget),
      withoutData: (error) => withoutData(error, effects),
    });
  };

  /** The answer to an operation that ended before its time: its reads end, and what it writes or pays is waited for. */
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

  function execute(rawParams: unknown, request: EngineRequest) {
    try {
      const params = validateParams(rawParams);
      const text = documentTextOf(params, persisted);
      if (text === null) throw new RequestError('BAD_USER_INPUT', 'A request needs a "query".');
      const operation = documentOf(text)(params.operationName);
      if (request.observation) request.observation.operation = operation;
      if (request.isReadOnly === true && operation.kind !== 'query')
        throw new RequestError('BAD_USER_INPUT', 'Send what changes something by POST.', {
          http: { status: 405, headers: { Allow: 'POST' } },
        });
      const raw = params.variables ?? {};
      const values = operation.variablesOf(raw);
      operation.checkNodeIds(values);
      operation.checkCallLimit(values);
      const effects = operation.kind === 'mutation' ? new MutationEffects() : null;
      const context = new RequestContext(services, request, effects);
      const result = operation.execute(context, { raw, values }, context);
      return result instanceof Promise
        ? result.then((settled) => conclude(settled, context))
        : conclude(result, context);
    } catch (error) {
      return toErrorResult(error);
    }
  }

  return { execute, toErrorResult };
}

/** Whether it takes milliseconds to make the answer's JSON. */
const isLong = ({ values, bytes }: AnswerBudget) => values > 10_000 || bytes > 256 * 1024;

type Services = Pick<EngineOptions, 'bank' | 'payments' | 'defaults' | 'limits'> & {
  readonly answerLimits: AnswerLimits;
};

/** A request's context. What reads the bank is made when a resolver asks for it: many an operation reads nothing. */
class RequestContext implements Context, ExecuteOptions {
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly credentials: Credentials;
  readonly budget: AnswerBudget;
  /** What it writes and pays; null where it is no mutation. */
  readonly effects: MutationEffects | null;
  readonly #services: Services;
  readonly #asking: EngineRequest;
  #signal: AbortSignal | undefined;
  #session: BankSession | null = null;

  constructor(services: Services, request: EngineRequest, effects: MutationEffects | null) {
    this.payments = effects?.payments(services.payments) ?? services.payments;
    this.defaults = services.defaults;
    this.credentials = request.credentials;
    this.budget = new AnswerBudget(services.answerLimits);
    this.effects = effects;
    this.#services = services;
    this.#asking = request;
  }

  get session(): BankSession {
    if (this.#session !== null) return this.#session;
    const { bank, limits } = this.#services;
    const { credentials, effects } = this;
    const { signal } = this;
    const usage = this.#asking.observation ?? undefined;
    const options = { bank: effects?.bank(bank) ?? bank, credentials, limits, signal, usage };
    this.#session = new BankSession(options);
    return this.#session;
  }

  get stale(): readonly StaleAnswer[] {
    return this.#session?.stale ?? nothing;
  }

  cancelReads(): void {
    this.#session?.cancel();
  }

  get signal(): AbortSignal | undefined {
    this.#signal ??= this.#asking.signal?.();
    return this.#signal;
  }

  isAbandoned(): boolean {
    return this.signal?.aborted === true;
  }
}

const nothing: readonly StaleAnswer[] = [];
