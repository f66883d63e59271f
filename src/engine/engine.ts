import type { ExecutionResult } from 'graphql';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import type { Payments } from '../payments/payments.ts';
import {
  type Context,
  type Defaults,
  type OperationLimits,
  Reader,
  type StaleAnswer,
} from '../schema/context.ts';
import { createDocuments, type DocumentOptions } from './documents.ts';
import { maskError } from './mask-error.ts';
import { checkParams } from './params.ts';
import { type Persisted, textOf } from './persisted-documents.ts';
import { Refusal } from './refusal.ts';

export interface EngineOptions extends Omit<DocumentOptions, 'persisted'> {
  readonly bank: BankClient;
  readonly payments: Payments;
  readonly persisted?: Persisted | null | undefined;
  /** Is told of what should not happen, for the log. */
  readonly unexpected: (error: unknown) => void;
}

/** Who asks, and how. */
export interface Asking {
  readonly credentials: Credentials;
  /** Makes the signal that is raised when the client has left, for who needs one. */
  readonly signal?: (() => AbortSignal) | undefined;
  /** A request that a browser makes without being asked, such as a link: it changes nothing. */
  readonly isReadOnly?: boolean;
}

/**
 * Answers GraphQL, whatever brings the request: every door calls it, and none has rules of its own.
 *
 * It never throws. An error says under `extensions.http` what the door has to do with it (http-answer.ts); an answer
 * that rests on what was read before says so under `extensions.stale`: `[{ operation, ageSeconds }]`.
 */
export interface Engine {
  answer(asked: unknown, asking: Asking): ExecutionResult | Promise<ExecutionResult>;
  /** The answer to a request that fails before it is known what it asks for. */
  refuse(error: unknown): ExecutionResult;
}

export function createEngine({
  bank,
  payments,
  persisted = null,
  unexpected,
  ...options
}: EngineOptions): Engine {
  const { defaults, limits } = options;
  const documentOf = createDocuments({ ...options, persisted: persisted?.documents ?? null });
  const finish = (result: ExecutionResult, { stale }: RequestContext): ExecutionResult => {
    if (result.errors === undefined && stale.length === 0) return result;
    return {
      ...result,
      ...(result.errors === undefined
        ? {}
        : { errors: result.errors.map((error) => maskError(error, unexpected)) }),
      ...(stale.length === 0 ? {} : { extensions: { stale } }),
    };
  };

  const refuse = (error: unknown): ExecutionResult => ({ errors: [maskError(error, unexpected)] });

  function answer(asked: unknown, asking: Asking) {
    try {
      const params = checkParams(asked);
      const text = textOf(params, persisted);
      if (text === null) throw new Refusal('BAD_USER_INPUT', 'A request needs a "query".');
      const operation = documentOf(text)(params.operationName);
      if (asking.isReadOnly === true && operation.kind !== 'query')
        throw new Refusal('BAD_USER_INPUT', 'Send what changes something by POST.', {
          http: { status: 405, headers: { Allow: 'POST' } },
        });
      const raw = params.variables ?? {};
      const values = operation.variablesOf(raw);
      operation.checkCalls(values);
      const context = new RequestContext(bank, payments, defaults, limits, asking);
      const result = operation.execute(context, { raw, values });
      return result instanceof Promise
        ? result.then((settled) => finish(settled, context), refuse)
        : finish(result, context);
    } catch (error) {
      return refuse(error);
    }
  }

  return { answer, refuse };
}

/** A request's context. What reads the bank is made when a resolver asks for it: many an operation reads nothing. */
class RequestContext implements Context {
  readonly payments: Payments;
  readonly defaults: Defaults;
  readonly credentials: Credentials;
  readonly #makeReader: () => Reader;
  #reader: Reader | null = null;

  constructor(
    bank: BankClient,
    payments: Payments,
    defaults: Defaults,
    limits: OperationLimits,
    asking: Asking,
  ) {
    const { credentials } = asking;
    this.payments = payments;
    this.defaults = defaults;
    this.credentials = credentials;
    this.#makeReader = () => new Reader({ bank, credentials, limits, signal: asking.signal?.() });
  }

  get reader(): Reader {
    this.#reader ??= this.#makeReader();
    return this.#reader;
  }

  get stale(): readonly StaleAnswer[] {
    return this.#reader?.stale ?? nothing;
  }
}

const nothing: readonly StaleAnswer[] = [];
