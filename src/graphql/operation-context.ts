import type { BankClient } from '../bank/client.ts';
import type { Credentials, RequestCredentials } from '../bank/credentials.ts';
import { OperationDeadline } from '../bank/deadline.ts';
import type { ReadBudget } from '../bank/shared-reads.ts';
import type { ErrorCode } from '../errors.ts';
import { AnswerBudget, type AnswerLimits } from '../executor/answer-budget.ts';
import type { IncrementalForm } from '../executor/defer.ts';
import type { ExecuteOptions } from '../executor/execution.ts';
import type { Caller } from '../load/callers.ts';
import { parsedTimes, valueBytes } from '../load/capacity.ts';
import type { SlicedOperation } from '../load/slices.ts';
import type { PaymentService } from '../payments/service.ts';
import { BankSession, type OperationLimits, type StaleAnswer } from '../schema/bank-session.ts';
import type { Context, Defaults } from '../schema/context.ts';
import { ListWork } from '../schema/list-work.ts';
import type { CallRecorder } from './explain.ts';
import type { MutationEffects } from './mutation-effects.ts';
import type { OperationActivity } from './operation-activity.ts';
import type { RequestHolder } from './request-holder.ts';

/** The caller, and how the request was sent. */
export interface EngineRequest {
  readonly credentials: RequestCredentials;
  /** Creates the signal that aborts when the client disconnects; called only if something needs it. */
  readonly signal?: (() => AbortSignal) | undefined;
  /**
   * Whether only queries are allowed, as in a GET, which a browser may send
   * unasked (when following a link, for example).
   */
  readonly isReadOnly?: boolean;
  /** The format in which the client accepts several results; undefined if it accepts only one. */
  readonly incremental?: IncrementalForm | undefined;
  /** The value of explainHeader. */
  readonly explain?: string | undefined;
  /** Counts the resources that the request uses (default: nothing is bounded). */
  readonly holder?:
    | Pick<RequestHolder, 'isMutation' | 'isAbandoned' | 'takeValues' | 'reserveRoom'>
    | undefined;
  /** Records the operation's activity (default: nothing is recorded). */
  readonly activity?: OperationActivity | null | undefined;
}

/** The objects that all requests of an engine share. */
export interface RequestServices {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  readonly answerLimits: AnswerLimits;
}

/**
 * One GraphQL operation while it is executed, and the context of its resolvers. It owns the operation's budget, its deadline and, in the
 * session, its reads and loaders.
 */
export class OperationContext implements Context, ExecuteOptions, ReadBudget, SlicedOperation {
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly budget: AnswerBudget;
  readonly caller: Caller;
  /** Is aborted when the client has left. A mutation has none: it runs until it ends. */
  readonly signal: AbortSignal | undefined;
  /** The operation's writes and payments; null if it is no mutation. */
  readonly effects: MutationEffects | null;
  /** Records the operation's calls; null if the request did not ask for them. */
  readonly recorder: CallRecorder | null;
  readonly #services: RequestServices;
  readonly #request: EngineRequest;
  readonly #startedAt = performance.now();
  #session: BankSession | null = null;
  #lists: ListWork | null = null;
  #isCallerAsked = false;

  constructor(
    services: RequestServices,
    request: EngineRequest,
    effects: MutationEffects | null,
    recorder: CallRecorder | null,
  ) {
    const { payments, defaults, answerLimits } = services;
    const { holder } = request;
    const recorded = recorder?.payments(payments) ?? payments;
    if (holder !== undefined) holder.isMutation = effects !== null;
    this.budget = new AnswerBudget(answerLimits, holder);
    this.caller = request.credentials.caller;
    this.signal = effects === null ? request.signal?.() : undefined;
    this.payments = effects?.payments(recorded) ?? recorded;
    this.defaults = defaults;
    this.effects = effects;
    this.recorder = recorder;
    this.#services = services;
    this.#request = request;
  }

  /** The bank as the caller sees it. Many operations need none. */
  get session(): BankSession {
    this.#session ??= this.#openSession();
    return this.#session;
  }

  #openSession(): BankSession {
    const { bank, limits } = this.#services;
    const { credentials, activity } = this.#request;
    return new BankSession({
      bank: this.effects?.bank(bank) ?? bank,
      credentials,
      limits,
      deadline: new OperationDeadline({ deadline: this.#startedAt + limits.timeoutMs, signal: this.signal }),
      observer: this.recorder ?? undefined,
      usage: activity ?? undefined,
      readBudget: this,
    });
  }

  /** Cancels the reads in flight, whose results are not needed any more. Writes continue. */
  cancelReads(): void {
    this.#session?.cancel();
  }

  /** Stale answers that were used, in the order of the reads. */
  get stale(): readonly StaleAnswer[] {
    return this.#session?.stale ?? [];
  }

  /** The caller. After a resolver has read this, the answer may be private. */
  get credentials(): Credentials {
    this.#isCallerAsked = true;
    return this.#request.credentials;
  }

  /** Whether HTTP caches may keep the answer: the operation has read public data only, and has written nothing. */
  get isCacheable(): boolean {
    if (this.effects !== null || this.#isCallerAsked || this.#session === null) return false;
    return this.#session.isPublic && this.#session.hasRead;
  }

  get lists(): ListWork {
    this.#lists ??= new ListWork(this);
    return this.#lists;
  }

  get operation(): SlicedOperation {
    return this;
  }

  noteFailure(code: ErrorCode): void {
    this.#request.activity?.noteFailure(code);
  }

  keep(bytes: number): boolean {
    return this.budget.keep((bytes * parsedTimes) / valueBytes);
  }

  /** Reserves memory for the answer's JSON, by the known lower bound of its length; false if there is not enough. */
  takeJson(): boolean {
    return this.budget.keep(this.budget.bytes / valueBytes);
  }

  /** Whether nobody needs the operation any more. */
  isAbandoned(): boolean {
    return this.signal?.aborted === true;
  }
}
