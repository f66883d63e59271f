import type { BankClient } from '../bank/client.ts';
import type { Caller } from '../bank/credentials.ts';
import { AnswerBudget } from '../executor/answer-budget.ts';
import type { ExecuteOptions } from '../executor/execution.ts';
import type { PaymentService } from '../payments/service.ts';
import { BankSession, type OperationLimits, type StaleAnswer } from '../schema/bank-session.ts';
import type { Context, Defaults } from '../schema/context.ts';
import { ListWork } from '../schema/list-work.ts';
import type { AnswerLimits } from './answer-limits.ts';
import type { CallRecorder } from './call-recorder.ts';
import type { MutationEffects } from './mutation-effects.ts';
import type { OperationObservation } from './operation-observation.ts';

/** The caller, and how the request was sent. */
export interface EngineRequest {
  readonly credentials: Caller;
  /** Creates the signal that aborts when the client disconnects; called only if something needs it. */
  readonly signal?: (() => AbortSignal) | undefined;
  /**
   * Whether only queries are allowed, as in a GET, which a browser may send
   * unasked (when following a link, for example).
   */
  readonly isReadOnly?: boolean;
  /** The values of the header Idempotency-Key, one for each occurrence; none if left out. */
  readonly idempotencyKeyHeader?: (() => readonly string[]) | undefined;
  /** The header x-bankql-explain. */
  readonly explain?: string | undefined;
  /**
   * Reserves room for the answer to wait for its client, in bytes; false where there is none. Always true if left out.
   */
  readonly reserveRoom?: ((bytes: number) => boolean) | undefined;
  /** Where it is noted what is done for it; nobody is told where it is left out. */
  readonly observation?: OperationObservation | null | undefined;
}

/** What the requests of an engine share. */
export interface RequestServices {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  readonly answerLimits: AnswerLimits;
}

/** A request's context. Its loaders are created when a resolver first needs them: many operations read nothing. */
export class RequestContext implements Context, ExecuteOptions {
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly budget: AnswerBudget;
  /** Its writes and payments; null if it is not a mutation. */
  readonly effects: MutationEffects | null;
  /** Records its calls; null if the request did not ask for them. */
  readonly recorder: CallRecorder | null;
  readonly #services: RequestServices;
  readonly #asking: EngineRequest;
  #signal: AbortSignal | undefined;
  #session: BankSession | null = null;
  #lists: ListWork | null = null;
  #isCallerAsked = false;

  constructor(
    services: RequestServices,
    request: EngineRequest,
    effects: MutationEffects | null,
    recorder: CallRecorder | null,
  ) {
    const payments = recorder?.payments(services.payments) ?? services.payments;
    this.recorder = recorder;
    this.payments = effects?.payments(payments) ?? payments;
    this.defaults = services.defaults;
    this.budget = new AnswerBudget(services.answerLimits);
    this.effects = effects;
    this.#services = services;
    this.#asking = request;
  }

  /** The caller. An answer for which a resolver asks this may be the caller's own. */
  get credentials(): Caller {
    this.#isCallerAsked = true;
    return this.#asking.credentials;
  }

  get idempotencyKeyHeader(): readonly string[] {
    return this.#asking.idempotencyKeyHeader?.() ?? [];
  }

  /** Whether nothing that was read or done belongs to the caller. */
  get isPublic(): boolean {
    return this.effects === null && !this.#isCallerAsked && (this.#session?.isPublic ?? true);
  }

  /** Whether the bank was asked for anything. */
  get hasRead(): boolean {
    return this.#session?.hasRead ?? false;
  }

  get session(): BankSession {
    if (this.#session !== null) return this.#session;
    const { bank, limits } = this.#services;
    const { credentials } = this.#asking;
    const { effects, signal } = this;
    const observer = this.recorder ?? undefined;
    const usage = this.#asking.observation ?? undefined;
    const options = { bank: effects?.bank(bank) ?? bank, credentials, limits, signal, observer, usage };
    this.#session = new BankSession(options);
    return this.#session;
  }

  get lists(): ListWork {
    this.#lists ??= new ListWork(this.budget);
    return this.#lists;
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

  /** Reserves room for the answer, as long as it is known to be at least; false where there is none. */
  reserveRoom(): boolean {
    return this.#asking.reserveRoom?.(this.budget.bytes) ?? true;
  }

  isAbandoned(): boolean {
    return this.signal?.aborted === true;
  }
}

const nothing: readonly StaleAnswer[] = [];
