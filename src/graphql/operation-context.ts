import { type ExecutionResult, GraphQLError } from 'graphql';
import type { BankClient } from '../bank/client.ts';
import type { Credentials, RequestCredentials } from '../bank/credentials.ts';
import type { ReadBudget } from '../bank/shared-reads.ts';
import type { ErrorCode } from '../errors.ts';
import { AnswerBudget, AnswerLimitError, type AnswerLimits } from '../executor/answer-limits.ts';
import type { IncrementalForm } from '../executor/defer.ts';
import type { ExecuteOptions } from '../executor/execution.ts';
import type { Caller } from '../load/callers.ts';
import { parsedTimes, valueBytes } from '../load/capacity.ts';
import type { SlicedOperation } from '../load/slices.ts';
import type { PaymentService } from '../payments/service.ts';
import { BankSession, type OperationLimits, type StaleAnswer } from '../schema/bank-session.ts';
import type { Context, Defaults } from '../schema/context.ts';
import { ListWork } from '../schema/list-work.ts';
import type { ExecutableOperation, ParsedDocument } from './documents.ts';
import { type MaskError, RequestError } from './errors.ts';
import type { CallRecorder } from './explain-calls.ts';
import { MutationEffects } from './mutation-effects.ts';
import type { OperationActivity } from './operation-activity.ts';
import type { RequestHolder } from './request-holder.ts';
import { type BoundedResultOptions, tooMuchBuilt } from './result.ts';

/** What a request says about its sender and the form of the answer, apart from the GraphQL parameters. */
export interface OperationRequest {
  readonly credentials: RequestCredentials;
  /** Whether only queries are allowed, as in a GET: a browser may send one without the user's intent, for example for a link. */
  readonly isReadOnly?: boolean;
  /** The format in which the client accepts several results; undefined if it accepts only one. */
  readonly incremental?: IncrementalForm | undefined;
  /** The value of explainHeader. */
  readonly explain?: string | undefined;
  /** Counts the resources that the request uses, and knows when its client leaves (default: nothing is bounded). */
  readonly holder?:
    | Pick<RequestHolder, 'isMutation' | 'isAbandoned' | 'signal' | 'takeValues' | 'reserveRoom'>
    | undefined;
  /** Makes the operation's payments (default: the payment service of the server). */
  readonly payments?: PaymentService | undefined;
  /** Records the operation's activity (default: nothing is recorded). */
  readonly activity?: OperationActivity | null | undefined;
}

/** The objects that all operations share. */
export interface OperationServices {
  readonly bank: BankClient;
  readonly payments: PaymentService;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
  readonly answerLimits: AnswerLimits;
  readonly mask: MaskError;
  /** Plugins, which may change an answer in any way. */
  readonly plugins?: readonly unknown[] | undefined;
}

/**
 * One GraphQL operation, from its parameters to its answer. It holds the budget of its answer, its deadline and, in the
 * session, its reads and loaders. Resolvers and plugins find it as `context.bankql`.
 */
export class OperationContext
  implements Context, ExecuteOptions, ReadBudget, SlicedOperation, BoundedResultOptions
{
  readonly request: OperationRequest;
  readonly caller: Caller;
  readonly budget: AnswerBudget;
  readonly maxBytes: number;
  readonly defaults: Defaults;
  payments: PaymentService;
  hasBegun = false;
  /** The operation's writes and payments; null if it is not a mutation. */
  effects: MutationEffects | null = null;
  /** Records the operation's calls; null if the request did not ask for this. */
  recorder: CallRecorder | null = null;
  readonly #services: OperationServices;
  #startedAt = 0;
  #session: BankSession | null = null;
  #lists: ListWork | null = null;
  #isCallerRead = false;

  constructor(services: OperationServices, request: OperationRequest) {
    this.#services = services;
    this.request = request;
    this.caller = request.credentials.caller;
    this.budget = new AnswerBudget(services.answerLimits, request.holder);
    this.maxBytes = services.answerLimits.bytes;
    this.defaults = services.defaults;
    this.payments = request.payments ?? services.payments;
  }

  /** The requested operation. Errors: RequestError, even for a valid mutation if the request may only read. */
  operationIn(document: ParsedDocument, name: string | null | undefined): ExecutableOperation {
    const operation = document.find(name);
    if (this.request.isReadOnly === true && operation.kind === 'mutation')
      throw new RequestError('BAD_USER_INPUT', 'Send what changes something by POST.', {
        http: { status: 405, headers: { Allow: 'POST' } },
      });
    return operation;
  }

  /** Called when the operation is known and valid. From now on, observers see it. */
  note(operation: ExecutableOperation): void {
    const { activity } = this.request;
    if (activity) activity.operation = operation;
  }

  /** Starts the operation's deadline, and the recording of its writes. */
  begin({ kind }: ExecutableOperation, recorder: CallRecorder | null): void {
    const { holder } = this.request;
    this.#startedAt = performance.now();
    this.hasBegun = true;
    if (holder !== undefined) holder.isMutation = kind === 'mutation';
    if (recorder !== null) {
      this.recorder = recorder;
      this.payments = recorder.payments(this.payments);
    }
    if (kind === 'mutation') {
      this.effects = new MutationEffects();
      this.payments = this.effects.payments(this.payments);
    }
  }

  /** The bank with the caller's credentials. It is created on demand, because many operations do not need it. */
  get session(): BankSession {
    this.#session ??= this.#openSession();
    return this.#session;
  }

  #openSession(): BankSession {
    const { bank, limits } = this.#services;
    const { credentials, activity, holder } = this.request;
    return new BankSession({
      bank: this.effects?.bank(bank) ?? bank,
      credentials,
      limits,
      endsAt: this.#startedAt + limits.timeoutMs,
      // Only a query stops when its client leaves; a mutation runs until it ends.
      signal: this.effects === null ? holder?.signal : undefined,
      observer: this.recorder ?? undefined,
      usage: activity ?? undefined,
      readBudget: this,
    });
  }

  /** The caller's credentials. Reading them marks the answer as private. */
  get credentials(): Credentials {
    this.#isCallerRead = true;
    return this.request.credentials;
  }

  get lists(): ListWork {
    this.#lists ??= new ListWork(this);
    return this.#lists;
  }

  noteFailure(code: ErrorCode): void {
    this.request.activity?.noteFailure(code);
  }

  keep(bytes: number): boolean {
    return this.budget.keep((bytes * parsedTimes) / valueBytes);
  }

  /** Reserves memory for JSON of the answer. `bytes`: a lower bound of its length. Returns false if there is not enough. */
  takeJson(bytes = this.budget.bytes): boolean {
    return this.budget.keep(bytes / valueBytes);
  }

  /** Whether nobody needs the result any more: the client has left, and the operation is not a mutation. */
  isAbandoned(): boolean {
    return this.effects === null && this.request.holder?.isAbandoned === true;
  }

  /**
   * Whether HTTP caches may keep the answer: the operation has read only public data, and has written
   * nothing. With plugins, no cache may keep it: what a plugin shows or refuses may depend on anything, such
   * as a cookie.
   */
  get isCacheable(): boolean {
    if (this.#services.plugins?.length) return false;
    if (this.effects !== null || this.#isCallerRead || this.#session === null) return false;
    return this.#session.isPublic && this.#session.hasRead;
  }

  /** Cancels the reads in flight, whose results are no longer needed. Writes continue. */
  cancelReads(): void {
    this.#session?.cancel();
  }

  /**
   * The result with its extensions. If a limit was exceeded, the reads are cancelled, the writes and payments are awaited, and the
   * answer is one error, whose extensions say what the operation wrote or paid.
   */
  conclude(result: ExecutionResult): ExecutionResult | Promise<ExecutionResult> {
    const limit = result.errors?.[0];
    if (limit instanceof AnswerLimitError) {
      this.cancelReads();
      const error = limit.isTemporary ? tooMuchBuilt() : limit;
      return this.effects === null
        ? this.withoutData(error)
        : this.effects.settled().then(() => this.withoutData(error));
    }
    const { extensions } = this;
    return extensions === undefined ? result : { ...result, extensions };
  }

  /** The answer with this error instead of its data. The error's extensions say what a mutation wrote or paid. */
  withoutData(cause: unknown): ExecutionResult {
    const { mask } = this.#services;
    const { message, extensions } = mask(cause);
    const error = new GraphQLError(message, { extensions: { ...extensions, ...this.effects?.extensions } });
    return { errors: [mask.asItIs(error)], data: null };
  }

  /** The answer's extensions; undefined if there is nothing to report. */
  get extensions(): Readonly<Record<string, unknown>> | undefined {
    const { recorder } = this;
    // The stale answers in the order of the reads.
    const stale: readonly StaleAnswer[] = this.#session?.stale ?? [];
    if (stale.length === 0 && recorder === null) return undefined;
    return {
      ...(stale.length === 0 ? {} : { stale }),
      ...(recorder === null ? {} : { explain: recorder.explanation }),
    };
  }
}
