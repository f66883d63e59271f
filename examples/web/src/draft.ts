/** The value of `to` in a payment. */
export interface Payee {
  readonly accountId: string;
  readonly bankId?: string;
}

/** A transfer as the person has filled it in. */
export interface Draft {
  /** The account that pays. It may belong to another bank. */
  readonly bankId: string;
  readonly accountId: string;
  readonly to: Payee;
  readonly payee: string;
  readonly amount: string;
  readonly currency: string;
  readonly description: string;
}

const nameOf = (id: string) => `sandbox-bank:draft:${id}`;

/** The draft that was sent under this id before the page was reloaded; null if there is none. */
export function keptDraft(id: string): Draft | null {
  const kept = sessionStorage.getItem(nameOf(id));
  return kept === null ? null : JSON.parse(kept);
}

/** Keeps a draft before it is sent, so that the page can query its outcome after a reload. */
export const keepDraft = (id: string, draft: Draft): void =>
  sessionStorage.setItem(nameOf(id), JSON.stringify(draft));

export const forgetDraft = (id: string): void => sessionStorage.removeItem(nameOf(id));
