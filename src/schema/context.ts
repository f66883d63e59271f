import type { CallInput } from '../bank/call.ts';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { BankqlError, badUserInput } from '../bank/error.ts';
import { checkId } from '../bank/path.ts';
import { Patience } from '../bank/patience.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import { createLoaders, type Loaders, type ReadOperation } from '../loaders/loaders.ts';
import type { Payments } from '../payments/payments.ts';

/** What every resolver is given: one for each request. */
export interface Context {
  readonly reader: Reader;
  readonly credentials: Credentials;
  readonly payments: Payments;
  readonly defaults: Defaults;
}

/** What reads ask of a context. */
export interface Asking {
  readonly reader: Pick<Reader, 'loaders'>;
  readonly defaults: Defaults;
}

/** What stands for an argument that was left out. */
export interface Defaults {
  /** The configured bank; null where none is configured. */
  readonly bankId: string | null;
  readonly viewId: string;
}

/** How much one GraphQL operation may take of the bank. */
export interface OperationLimits {
  /** How long its reads may take together, in milliseconds: what is late then is BANK_TIMEOUT, the rest is answered. */
  readonly timeoutMs: number;
  /**
   * How many REST calls it may make. One that needs more at least (plan.ts) is refused before it runs; what is over
   * while it runs is CALL_BUDGET_EXCEEDED. A payment is never counted.
   */
  readonly restCalls: number;
}

/** An answer that stood in for a bank that is away. */
export interface StaleAnswer {
  readonly operation: string;
  readonly ageSeconds: number;
}

interface ReaderOptions {
  readonly bank: BankClient;
  readonly credentials: Credentials;
  readonly limits: OperationLimits;
  /** Gives up reads that are under way where it is raised; writes go on. */
  readonly signal?: AbortSignal | undefined;
}

/** The bank as one caller sees it during one GraphQL operation. */
export class Reader {
  /** What was not fresh, in the order in which it was read. */
  readonly stale: StaleAnswer[] = [];
  readonly #options: ReaderOptions;
  readonly #patience: Patience;
  #calls = 0;
  #hasWritten = false;
  #loaders: Loaders | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#patience = new Patience({
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
  get hasRoomAhead(): boolean {
    return this.#calls * 2 < this.#options.limits.restCalls;
  }

  /** What was read before may have changed: from here on all is read again, and shared with nobody. */
  forget(): void {
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
  ): Promise<{ answer: Answer<T>; trackId: string }> {
    const { bank, credentials } = this.#options;
    const refusal = this.#spend(operation);
    if (refusal !== null) throw refusal;
    try {
      const { answer, trackId } = await bank.write(operation, { ids, body, credentials });
      if (trackId === null) throw new Error(`${operation.id} is a write without a Track-ID`);
      return { answer, trackId };
    } finally {
      this.forget();
    }
  }

  readonly #read: ReadOperation = (operation, { ids, body, name }) => {
    const { bank, credentials } = this.#options;
    const refusal = this.#spend(operation);
    if (refusal !== null) return Promise.reject(refusal);
    const limits = { patience: this.#patience, alone: this.#hasWritten };
    return bank.read(operation, { ids, body, name, credentials }, limits).then(({ answer, staleMs }) => {
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

/** The bank that an argument names, or the configured one. Errors: BAD_USER_INPUT where there is neither. */
export function bankIdOr(defaults: Defaults, bankId: string | null | undefined): string {
  const id = bankId ?? defaults.bankId;
  if (id === null) throw badUserInput('bankId is needed: no default bank is configured (BANK_ID).');
  return checkId('bankId', id);
}

/** The view that an argument names, or the configured one. Errors: BAD_USER_INPUT. */
export const viewIdOr = (defaults: Defaults, viewId: string | null | undefined): string =>
  checkId('viewId', viewId ?? defaults.viewId);
