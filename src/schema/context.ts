import type { Credentials } from '../bank/credentials.ts';
import type { ReadBudget } from '../bank/shared-reads.ts';
import { badUserInput, type ErrorCode } from '../errors.ts';
import type { PaymentService } from '../payments/service.ts';
import type { BankSession } from './bank-session.ts';
import type { ListWork } from './list-work.ts';
import { restId } from './plugin/global-id.ts';
import type { ViewerTemplates } from './viewer-template.ts';

/** The context of every resolver: yoga's, with the additions of plugins. bankql's own members are in one object. */
export interface ResolverContext {
  readonly bankql: Context;
}

/** bankql's part of the context: one for each operation. */
export interface Context extends ReadContext, Pick<ReadBudget, 'keep'> {
  readonly session: BankSession;
  readonly payments: PaymentService;
  /**
   * Reports a failure to the log and the metrics, by its code, if the answer contains it as data and not in
   * `errors`.
   */
  noteFailure(code: ErrorCode): void;
}

/** The part of the context that reads need. */
export interface ReadContext {
  readonly session: Pick<BankSession, 'loaders' | 'noteDrift'>;
  /** Runs the operation's filters, sorts and searches of lists. */
  readonly lists: ListWork;
  readonly defaults: Defaults;
  /** The caller. */
  readonly credentials: Credentials;
}

/** Defaults of arguments. Their ids have been checked. */
export interface Defaults {
  /** The configured bank; null if no bank is configured. */
  readonly bankId: string | null;
  readonly viewId: string;
  /** The id with which postProducts lists all products of the bank. */
  readonly allProductsId?: string | null;
  /** The `{scope}` of getAccountsScope for reading a single account; `views` by default. */
  readonly accountScope?: string;
  /** The templates for the viewer's ids: see viewer.ts. Without them, the viewer is unknown. */
  readonly viewer?: ViewerTemplates | undefined;
}

/** The description of an input field for a bank's code. */
export const bankIdDescription = 'The code of the bank; the configured one if it is left out.';

/**
 * The bank that an argument names, or the configured one. An empty code counts as absent. Errors: BAD_USER_INPUT if there is
 * neither.
 */
export function bankIdOr(defaults: Defaults, bankId: string | null | undefined): string {
  if (bankId) return restId('bankId', bankId);
  if (defaults.bankId === null)
    throw badUserInput('Give bankId: this server has no default bank (BANK_ID).', 'bankId');
  return defaults.bankId;
}

/** The view that an argument names, or the configured one. Errors: BAD_USER_INPUT. */
export const viewIdOr = (defaults: Defaults, viewId: string | null | undefined): string =>
  viewId == null ? defaults.viewId : restId('viewId', viewId);

/**
 * The configured id for an argument of this name. Only banks and views have one: undefined for other names.
 * Errors: BAD_USER_INPUT if no bank is configured.
 */
export const defaultId = (name: string, defaults: Defaults): string | undefined =>
  name === 'bankId' ? bankIdOr(defaults, null) : name === 'viewId' ? defaults.viewId : undefined;
