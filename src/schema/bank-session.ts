import type { Drift } from '../bank/answer.ts';
import { type CallObserver, failedOutcome } from '../bank/call-observer.ts';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { OperationDeadline } from '../bank/operation-deadline.ts';
import type { ReadBudget, SharedSource } from '../bank/shared-reads.ts';
import type { Answer, Body, Operation, OwnIds } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { createLoaders, type LoaderSession, type Loaders } from '../loaders/loaders.ts';

/** Limits on the bank calls of one GraphQL operation. */
export interface OperationLimits {
  /**
   * The time for all reads of the operation together, in milliseconds. Later reads fail with BANK_TIMEOUT; other fields are
   * answered.
   */
  readonly timeoutMs: number;
  /** The number of REST calls. Further calls fail with CALL_BUDGET_EXCEEDED. Payments are never counted. */
  readonly restCalls: number;
}

/** An earlier answer, used because the bank is unavailable. */
export interface StaleAnswer {
  readonly operation: string;
  readonly ageSeconds: number;
}

/** Counts the reads of an operation that needed no call of their own, by the source of their answers. */
export type ReadUsage = { -readonly [Source in SharedSource]: number };

interface BankSessionOptions {
  readonly bank: BankClient;
  readonly credentials: Credentials;
  readonly limits: OperationLimits;
  /** The deadline of the reads, in milliseconds of performance.now(). */
  readonly endsAt: number;
  /** If this signal is aborted, the reads end. */
  readonly signal: AbortSignal | undefined;
  /** Is notified of each call; optional. */
  readonly observer?: CallObserver | undefined;
  /** Counts the reads that needed no call of their own. */
  readonly usage?: ReadUsage | undefined;
  /** Limits the memory for the bank's answers (default: unlimited). */
  readonly readBudget?: ReadBudget | undefined;
}

/**
 * The bank with one caller's credentials during one GraphQL operation. It makes the reads for the operation's loaders, and
 * limits their number, their time, and the memory of their answers.
 */
export class BankSession implements LoaderSession {
  /** The stale answers that were used, in the order of the reads. */
  readonly stale: StaleAnswer[] = [];
  readonly bank: BankClient;
  readonly credentials: Credentials;
  readonly operationDeadline: OperationDeadline;
  readonly readBudget: ReadBudget | null;
  readonly observer: CallObserver | null;
  /** Whether reads are unshared, because the operation has written. */
  unshared = false;
  readonly #limits: OperationLimits;
  readonly #usage: ReadUsage | undefined;
  #calls = 0;
  #isPublic = true;
  #loaders: Loaders | null = null;
  #drifted: Set<object> | null = null;

  constructor(options: BankSessionOptions) {
    this.#limits = options.limits;
    this.#usage = options.usage;
    this.bank = options.bank;
    this.credentials = options.credentials;
    this.operationDeadline = new OperationDeadline({ deadline: options.endsAt, signal: options.signal });
    this.readBudget = options.readBudget ?? null;
    this.observer = options.observer ?? null;
  }

  /** The loaders of the operation. Do not keep a reference to them, because a write replaces them. */
  get loaders(): Loaders {
    this.#loaders ??= createLoaders(this);
    return this.#loaders;
  }

  /**
   * Whether calls may be made before it is known that they are needed, such as for a record that may not exist. Half
   * of the operation's calls are reserved for records that are known to exist.
   */
  get hasEarlyCalls(): boolean {
    return this.#calls * 2 < this.#limits.restCalls;
  }

  /** Cancels the reads in flight, because their results are not needed any more. Writes continue. */
  cancel(): void {
    this.operationDeadline.cancel();
  }

  /** Whether everything that was read is the same for every caller; false after a write. */
  get isPublic(): boolean {
    return this.#isPublic && !this.unshared;
  }

  /** Whether any read was made. */
  get hasRead(): boolean {
    return this.#calls > 0;
  }

  /**
   * Counts a difference between a request and its answer as drift: once for each answer, however many fields
   * notice it.
   */
  noteDrift(drift: Drift, answer: object): void {
    this.#drifted ??= new Set();
    if (this.#drifted.has(answer)) return;
    this.#drifted.add(answer);
    this.bank.noteDrift(drift);
  }

  /**
   * Called before a payment. Errors: CALL_BUDGET_EXCEEDED if the operation has made all its calls; the payment must not be
   * sent.
   */
  checkPayment(operation: Operation): void {
    const { restCalls } = this.#limits;
    if (this.#calls >= restCalls)
      throw new BankqlError(
        'CALL_BUDGET_EXCEEDED',
        `This operation made its ${restCalls} REST calls before its payment: this field did not send it. An earlier request or field with this key may have: repeat the payment with the same key, in an operation of its own.`,
        { operation: operation.id },
      );
  }

  /** Discards all earlier reads, because their records may have changed. From now on, reads go to the bank and are not shared. */
  invalidate(): void {
    this.unshared = true;
    this.#loaders = null;
  }

  /**
   * Makes a write. Whatever its outcome, records are read again afterwards.
   * Errors: BankqlError, as from BankClient.write; CALL_BUDGET_EXCEEDED if the call was not made.
   */
  async write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    ids: OwnIds<T>,
    body: Body<T>,
  ): Promise<{ answer: Answer<T> | null; trackId: string }> {
    const { bank, credentials } = this;
    if (this.#calls++ >= this.#limits.restCalls) throw this.#tooManyCalls(operation);
    const ended = this.observer?.began(operation, null);
    try {
      const { answer, trackId, status, bytes } = await bank.write(operation, {
        ids,
        body,
        credentials,
      });
      if (trackId === null) throw new Error(`${operation.id} is a write without a Track-ID`);
      ended?.({ source: 'bank', status, bytes, trackId, code: null });
      return { answer, trackId };
    } catch (error) {
      ended?.(failedOutcome(error));
      throw error;
    } finally {
      this.invalidate();
    }
  }

  /**
   * Reads a record and writes it; the writes of one record run one after the other (BankClient.update). `bodyOf` reads the
   * record, bypassing every cache and keeping all digits, and returns the body. It is called again if another update changed
   * the record in the meantime; both reads count as one call.
   * Errors: those of `bodyOf`, `write` and BankClient.update. After CONFLICT, earlier reads are discarded, because they are
   *         outdated. Errors that do not depend on the record, such as MISSING_CREDENTIALS, come before the read.
   */
  async update<T extends Operation & { readonly kind: 'write' }>(
    record: string,
    operation: T,
    ids: OwnIds<T>,
    bodyOf: (session: Pick<BankSession, 'loaders' | 'noteDrift'>) => Promise<Body<T>>,
  ): Promise<{ answer: Answer<T> | null; trackId: string }> {
    const { bank, credentials } = this;
    const call = bank.prepare(operation, { ids, credentials });
    let isAgain = false;
    try {
      return await bank.update(record, {
        caller: call.credentials.caller,
        deadline: this.operationDeadline,
        read: () => {
          if (isAgain) this.#calls--;
          isAgain = true;
          return bodyOf({
            loaders: createLoaders(this, true),
            noteDrift: (drift, read) => this.noteDrift(drift, read),
          });
        },
        write: (body) => this.write(operation, ids, body),
      });
    } catch (error) {
      if (error instanceof BankqlError && error.code === 'CONFLICT') {
        bank.invalidate(call);
        this.invalidate();
      }
      throw error;
    }
  }

  /** Counts a read when it is requested, and not when its batch begins, so that `hasEarlyCalls` takes it into account at once. */
  admit(operation: Operation): Error | null {
    if (operation.audience === 'caller') this.#isPublic = false;
    return this.#calls++ < this.#limits.restCalls ? null : this.#tooManyCalls(operation);
  }

  /** Called when a read was answered without a call of its own. */
  onSource(source: SharedSource, operation: string, ageMs: number): void {
    if (this.#usage !== undefined) this.#usage[source]++;
    if (source === 'stale') this.stale.push({ operation, ageSeconds: Math.round(ageMs / 1000) });
  }

  #tooManyCalls({ id }: Operation): BankqlError {
    const { restCalls } = this.#limits;
    return new BankqlError(
      'CALL_BUDGET_EXCEEDED',
      `This operation asks for more than ${restCalls} REST calls; ask for less at a time.`,
      { operation: id },
    );
  }
}
