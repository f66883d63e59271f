import type { Caller } from '../bank/credentials.ts';
import { badUserInput } from '../errors.ts';
import type { PaymentService } from '../payments/service.ts';
import type { BankSession } from './bank-session.ts';
import { restId } from './global-id.ts';
import type { ViewerTemplates } from './viewer-template.ts';

/** What every resolver is given: one for each request. */
export interface Context extends ReadContext {
  readonly session: BankSession;
  readonly payments: PaymentService;
}

/** What reads ask of a context. */
export interface ReadContext {
  readonly session: Pick<BankSession, 'loaders' | 'noteDrift'>;
  readonly defaults: Defaults;
  /** Who asks. */
  readonly credentials: Caller;
}

/** What stands for an argument that was left out. */
export interface Defaults {
  /** The configured bank; null where none is configured. */
  readonly bankId: string | null;
  readonly viewId: string;
  /** `{scope}` of getAccountsScope where a single account is read; `views` where it is left out. */
  readonly accountScope?: string;
  /** Who is logged in: see viewer-ids.ts. Nothing says it where this is left out. */
  readonly viewer?: ViewerTemplates | undefined;
}

/** The bank that an argument names, or the configured one. Errors: BAD_USER_INPUT where there is neither. */
export function bankIdOr(defaults: Defaults, bankId: string | null | undefined): string {
  const id = bankId ?? defaults.bankId;
  if (id === null) throw badUserInput('bankId is needed: no default bank is configured (BANK_ID).');
  return restId('bankId', id);
}

/** The view that an argument names, or the configured one. Errors: BAD_USER_INPUT. */
export const viewIdOr = (defaults: Defaults, viewId: string | null | undefined): string =>
  restId('viewId', viewId ?? defaults.viewId);
