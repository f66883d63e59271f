import type { BankClient, CallInput } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { badUserInput } from '../bank/error.ts';
import { checkId } from '../bank/path.ts';
import type { Answer, Body, Operation } from '../contract/operation.ts';
import { createLoaders, type Loaders } from '../loaders/loaders.ts';
import type { Payments } from '../payments/payments.ts';

/** What every resolver is given: one for each request. */
export interface Context {
  readonly reader: Reader;
  readonly credentials: Credentials;
  readonly payments: Payments;
  readonly defaults: Defaults;
}

/** What stands for an argument that was left out. */
export interface Defaults {
  /** The configured bank; null where none is configured. */
  readonly bankId: string | null;
  readonly viewId: string;
}

/** The bank as one caller sees it during one request. */
export class Reader {
  readonly #bank: BankClient;
  readonly #credentials: Credentials;
  readonly #signal: AbortSignal | undefined;
  #loaders: Loaders;

  /** A raised `signal` gives up reads that are under way; writes go on. */
  constructor(bank: BankClient, credentials: Credentials, signal?: AbortSignal) {
    this.#bank = bank;
    this.#credentials = credentials;
    this.#signal = signal;
    this.#loaders = createLoaders(bank, credentials, signal);
  }

  /** Ask for it anew in each resolver: a write puts fresh ones in its place. */
  get loaders(): Loaders {
    return this.#loaders;
  }

  /** What was read before may have changed: from here on, all is read again. */
  forget(): void {
    this.#loaders = createLoaders(this.#bank, this.#credentials, this.#signal);
  }

  /**
   * Calls a write; whatever becomes of it, what is read afterwards is read anew.
   * Errors: BankqlError, as BankClient.call.
   */
  async write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    ids: CallInput<T>['ids'],
    body: Body<T>,
  ): Promise<{ answer: Answer<T>; trackId: string }> {
    try {
      const { answer, trackId } = await this.#bank.call(operation, {
        ids,
        body,
        credentials: this.#credentials,
      });
      if (trackId === null) throw new Error(`${operation.id} is a write without a Track-ID`);
      return { answer, trackId };
    } finally {
      this.forget();
    }
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
