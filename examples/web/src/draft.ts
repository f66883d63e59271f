/** What `to` of a payment takes. */
export interface Payee {
  readonly accountId: string;
  readonly bankId?: string;
}

/** A transfer as the person filled it in. */
export interface Draft {
  /** The account that pays. An account of the list may be at another bank. */
  readonly bankId: string;
  readonly accountId: string;
  readonly to: Payee;
  readonly payee: string;
  readonly amount: string;
  readonly currency: string;
  readonly description: string;
}

const nameOf = (id: string) => `sandbox-bank:draft:${id}`;

/** What was sent under this id before the page was loaded again; null where nothing was. */
export function keptDraft(id: string): Draft | null {
  const kept = sessionStorage.getItem(nameOf(id));
  return kept === null ? null : JSON.parse(kept);
}

/** Kept before it is sent, so that a reload knows what it asks about. */
export const keepDraft = (id: string, draft: Draft): void =>
  sessionStorage.setItem(nameOf(id), JSON.stringify(draft));

export const forgetDraft = (id: string): void => sessionStorage.removeItem(nameOf(id));
