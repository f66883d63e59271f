import type { BankClient } from '../bank/client.ts';
import type { Caller } from '../bank/credentials.ts';
import type { ReadBudget } from '../bank/shared-reads.ts';
import { BankqlError, detailsOf, type ErrorCode } from '../errors.ts';
import { AnswerBudget, type AnswerLimits } from '../executor/answer-budget.ts';
import type { ExecuteOptions } from '../executor/execution.ts';
import { parsedTimes, valueBytes } from '../load/capacity.ts';
import type { SlicedOperation } from '../load/slices.ts';
import type { PaymentService } from '../payments/service.ts';
import type { PaymentState } from '../payments/store.ts';
import { BankSession, type OperationLimits } from '../schema/bank-session.ts';
import type { Context, Defaults } from '../schema/context.ts';
import { ListWork } from '../schema/list-work.ts';
import type { CallRecorder } from './explain.ts';
import type { OperationActivity } from './operation-activity.ts';
import type { RequestHolder } from './request-holder.ts';

/**
 * The format of incremental results, by the name in the client's `Accept`: that of graphql 17, or that of 2022, in
 * which each result names its path.
 */
export type IncrementalForm = 'v0.2' | '20220824';

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

/** The name by which a caller's time is counted (slices.ts). */
export const callerNameOf = ({ credentials }: EngineRequest): string => credentials.identity?.name ?? '';

/** A request's context. */
export class RequestContext implements Context, ExecuteOptions, ReadBudget, SlicedOperation {
  readonly session: BankSession;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly budget: AnswerBudget;
  readonly caller: string;
  /** Is aborted when the client has left. A mutation has none: it runs until it ends. */
  readonly signal: AbortSignal | undefined;
  /** The operation's writes and payments; null if it is no mutation. */
  readonly effects: MutationEffects | null;
  /** Records the operation's calls; null if the request did not ask for them. */
  readonly recorder: CallRecorder | null;
  readonly #request: EngineRequest;
  #lists: ListWork | null = null;
  #isCallerAsked = false;

  constructor(
    { bank, payments, defaults, limits, answerLimits }: RequestServices,
    request: EngineRequest,
    effects: MutationEffects | null,
    recorder: CallRecorder | null,
  ) {
    const { credentials, holder, activity } = request;
    const recorded = recorder?.payments(payments) ?? payments;
    if (holder !== undefined) holder.isMutation = effects !== null;
    this.budget = new AnswerBudget(answerLimits, holder);
    this.caller = callerNameOf(request);
    this.signal = effects === null ? request.signal?.() : undefined;
    this.session = new BankSession({
      bank: effects?.bank(bank) ?? bank,
      credentials,
      limits,
      signal: this.signal,
      observer: recorder ?? undefined,
      usage: activity ?? undefined,
      readBudget: this,
    });
    this.payments = effects?.payments(recorded) ?? recorded;
    this.defaults = defaults;
    this.effects = effects;
    this.recorder = recorder;
    this.#request = request;
  }

  /** The caller. After a resolver has read this, the answer may be private. */
  get credentials(): Caller {
    this.#isCallerAsked = true;
    return this.#request.credentials;
  }

  /** Whether the request has read only public data, and written nothing. */
  get isPublic(): boolean {
    return this.effects === null && !this.#isCallerAsked && this.session.isPublic;
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

/** A write of a mutation, as far as its result is known. */
interface WriteEffect {
  /** The REST operation's id. */
  readonly operation: string;
  readonly trackId?: string;
  /** The code of its failure. */
  readonly code?: string;
}

/** The state of a payment. NOT_SENT: nothing is in progress or done under this key, which is free. */
type PaymentEffectState = PaymentState | 'NOT_SENT';

/** The payment of a mutation. */
interface PaymentEffect {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly trackId?: string;
  /** Absent if the error concerns only this request: an earlier request with this key may have paid. */
  readonly state?: PaymentEffectState;
  /** The error code of the payment. `code` is the one of the whole answer. */
  readonly paymentCode?: string;
}

/**
 * The writes and payments of a mutation, for an answer without data: the client must not conclude that
 * nothing was written or paid.
 */
export class MutationEffects {
  #payment: PaymentEffect | null = null;
  readonly #writes: WriteEffect[] = [];
  readonly #underWay = new Set<Promise<unknown>>();

  /** Resolves when nothing is in progress any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** For an error's extensions: the payment's members, and `writes`. An operation has one payment at most. */
  get extensions(): Readonly<Record<string, unknown>> {
    return { ...this.#payment, ...(this.#writes.length === 0 ? {} : { writes: this.#writes }) };
  }

  /** The bank client, with its writes recorded. */
  bank(bank: BankClient): BankClient {
    return {
      ...bank,
      write: (operation, input) =>
        this.#track(
          bank.write(operation, input),
          ({ trackId }) => void this.#writes.push({ operation: operation.id, ...(trackId && { trackId }) }),
          (error) => {
            const { code, trackId } = detailsOf(error);
            this.#writes.push({ operation: operation.id, code, ...(trackId && { trackId }) });
          },
        ),
    };
  }

  /** The payment service, with its payments recorded. */
  payments(payments: PaymentService): PaymentService {
    return {
      ...payments,
      pay: (operation, intent) => {
        // Shortened: a key that is refused for its length may have any length.
        const known = { operation: operation.id, idempotencyKey: intent.idempotencyKey.slice(0, 255) };
        return this.#track(
          payments.pay(operation, intent),
          ({ trackId }) => {
            this.#payment = { ...known, trackId, state: 'DONE' };
          },
          (error) => {
            const { code: paymentCode, trackId } = detailsOf(error);
            const state = stateAfter(error);
            this.#payment = { ...known, ...(trackId && { trackId }), ...(state && { state }), paymentCode };
          },
        );
      },
    };
  }

  #track<T>(work: Promise<T>, onDone: (value: T) => void, onFailed: (error: unknown) => void): Promise<T> {
    const tracked = work.then(onDone, onFailed).finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    return work;
  }
}

/** The state of a failed payment, if its error code is enough to determine it. */
const statesByCode: Partial<Record<ErrorCode, PaymentEffectState>> = {
  OUTCOME_UNKNOWN: 'UNKNOWN',
  IDEMPOTENCY_IN_PROGRESS: 'PENDING',
  // A payment that an operator settled has no status.
  BANK_REJECTED: 'REJECTED',
  BANK_UNAVAILABLE: 'NOT_SENT',
  BANK_TIMEOUT: 'NOT_SENT',
  // The bank or a gateway refused the credentials: no record is kept.
  UNAUTHENTICATED: 'NOT_SENT',
};

/**
 * The state of a payment that failed; UNKNOWN if in doubt. Undefined if the error does not determine it.
 */
function stateAfter(error: unknown): PaymentEffectState | undefined {
  if (!(error instanceof BankqlError)) return 'UNKNOWN';
  const { code, status } = error.extensions;
  if (statesByCode[code] !== undefined) return statesByCode[code];
  // Without a status, bankql refused this request: an earlier one may have paid.
  if (status === undefined) return undefined;
  // A gateway refused it: no record is kept.
  return code === 'RATE_LIMITED' ? 'NOT_SENT' : 'REJECTED';
}
