import type { ReadUsage } from '../bank/cache/shared-reads.ts';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import type { CallInput } from '../bank/request.ts';
import { OperationDeadline } from '../bank/resilience/operation-deadline.ts';
import type { Drift } from '../bank/response.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { createLoaders, type Loaders, type ReadOperation } from '../loaders/loaders.ts';

/** How much one GraphQL operation may take of the bank. */
export interface OperationLimits {
  /** How long its reads may take together, in milliseconds: what is late then is BANK_TIMEOUT, the rest is answered. */
  readonly timeoutMs: number;
  /**
   * How many REST calls it may make. One that needs more at least (call-estimate.ts) is refused before it runs; what is over
   * while it runs is CALL_BUDGET_EXCEEDED. A payment is never counted.
   */
  readonly restCalls: number;
}

/** An answer that stood in for a bank that is away. */
export interface StaleAnswer {
  readonly operation: string;
  readonly ageSeconds: number;
}

interface BankSessionOptions {
  readonly bank: BankClient;
  readonly credentials: Credentials;
  readonly limits: OperationLimits;
  /** Gives up reads that are under way where it is raised; writes go on. */
  readonly signal?: AbortSignal | undefined;
  /** Where its reads are counted that were answered without a call of their own. */
  readonly usage?: ReadUsage | undefined;
}

/** The bank as one caller sees it during one GraphQL operation. */
export class BankSession {
  /** What was not fresh, in the order in which it was read. */
  readonly stale: StaleAnswer[] = [];
  readonly #options: BankSessionOptions;
  readonly #deadline: OperationDeadline;
  #calls = 0;
  #hasWritten = false;
  #loaders: Loaders | null = null;
  #drifted: Set<object> | null = null;

  constructor(options: BankSessionOptions) {
    this.#options = options;
    this.#deadline = new OperationDeadline({
      deadline: performance.now() + options.limits.timeoutMs,
      signal: options.signal,
    });
  }

  /** Ask for it anew in each resolver: a write puts fresh ones in its place. */
  get loaders(): Loaders {
    this.#loaders ??= createLoaders(this.#read);
    return this.#loaders;
  }

  /**
   * Whether calls may be made before it is known that they are needed: what hangs on a record that turns out to be absent
   * must not use up the calls of what is there.
   */
  get canPrefetch(): boolean {
    return this.#calls * 2 < this.#options.limits.restCalls;
  }

  /** Ends the reads that are under way: nobody waits for them any more. Writes go on. */
  cancel(): void {
    this.#deadline.cancel();
  }

  /** Counts where an answer differs from what was asked for; once for each answer, however many fields look at it. */
  noteDrift(drift: Drift, answer: object): void {
    this.#drifted ??= new Set();
    if (this.#drifted.has(answer)) return;
    this.#drifted.add(answer);
    this.#options.bank.noteDrift(drift);
  }

  /** What was read before may have changed: from here on all is read again, and shared with nobody. */
  invalidate(): void {
    this.#hasWritten = true;
    this.#loaders = null;
  }

  /**
   * Calls a write; whatever becomes of it, what is read afterwards is read anew.
   * Errors: BankqlError, as BankClient.write; CALL_BUDGET_EXCEEDED, where the call was not made.
   */
  async write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    ids: CallInput<T>['ids'],
    body: Body<T>,
  ): Promise<{ answer: Answer<T> | null; trackId: string }> {
    const { bank, credentials } = this.#options;
    const refusal = this.#spend(operation);
    if (refusal !== null) throw refusal;
    try {
      const { answer, trackId } = await bank.write(operation, { ids, body, credentials });
      if (trackId === null) throw new Error(`${operation.id} is a write without a Track-ID`);
      return { answer, trackId };
    } finally {
      this.invalidate();
    }
  }

  readonly #read: ReadOperation = (operation, { ids, body, key }) => {
    const { bank, credentials, usage } = this.#options;
    const refusal = this.#spend(operation);
    if (refusal !== null) return Promise.reject(refusal);
    const limits = { operationDeadline: this.#deadline, unshared: this.#hasWritten, usage };
    return bank.read(operation, { ids, body, key, credentials }, limits).then(({ answer, staleMs }) => {
      if (staleMs !== undefined)
        this.stale.push({ operation: operation.id, ageSeconds: Math.round(staleMs / 1000) });
      return answer;
    });
  };

  /** Counts a call; the error where there may be none more. */
  #spend({ id }: Operation): BankqlError | null {
    const { restCalls } = this.#options.limits;
    if (this.#calls++ < restCalls) return null;
    return new BankqlError(
      'CALL_BUDGET_EXCEEDED',
      `This operation asks for more than ${restCalls} REST calls; ask for less at a time.`,
      { operation: id },
    );
  }
}
