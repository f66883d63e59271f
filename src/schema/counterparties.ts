import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/answer.ts';
import {
  getOtherAccounts,
  type OtherAccountQuery,
  type OtherAccount as OtherAccountRecord,
} from '../contract/other-account.ts';
import type { AccountRef as AccountRefRecord } from '../contract/shared-parts.ts';
import { BankqlError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { isObject } from '../is-object.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { isCodeOf } from './account-list.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { OtherAccount } from './other-account.ts';
import type { Payee } from './payee.ts';
import { nullOnError } from './plugin/field-extensions.ts';
import type { Part } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { shownId } from './plugin/list-item.ts';
import { omitNullish } from './request-body.ts';
import { containsFolded, foldSearch } from './text-search.ts';

/** Searches of counterparties, and the payee that a counterparty stands for. */

const OtherAccountFilter = builder.inputType('OtherAccountFilter', {
  description: 'Selects counterparties.',
  fields: (t) => ({
    iban: t.string({
      description: 'The international account number, in any case, with or without spaces.',
    }),
    id: t.id({ description: 'The id to look for.' }),
  }),
});

export const counterpartySearch = builder.args((t) => ({
  filter: t.field({
    type: OtherAccountFilter,
    description: 'Only counterparties with this IBAN, this id, or both.',
  }),
  search: t.string({
    description: "Only those with this text in the holder's name or IBAN, in any case.",
  }),
}));

type OtherAccountSearch = InputShapeFromFields<typeof counterpartySearch>;

/** The query for the bank; null for all counterparties. */
function queryOf({ filter }: OtherAccountSearch): OtherAccountQuery | null {
  if (filter?.iban === null || filter?.iban === undefined) return null;
  return omitNullish({ IBAN: compactIban(filter.iban), id: filter.id });
}

function loadAll(account: ViewIds, { session }: ReadContext): Promise<OtherAccountRecord[]> {
  return session.loaders.otherAccounts.load(account);
}

/** The counterparties that a field with this filter lists. */
export function loadOtherAccounts(
  account: ViewIds,
  args: OtherAccountSearch,
  context: ReadContext,
): Promise<OtherAccountRecord[]> {
  const query = queryOf(args);
  const text = foldSearch(args.search);
  const listed =
    query === null
      ? loadAll(account, context)
      : context.session.loaders.postOtherAccounts.load({ ...account, query });
  const id = query === null ? args.filter?.id : null;
  if ((id === null || id === undefined) && text === null) return listed;
  const isFound = text === null ? () => true : entriesWith(text);
  return listed.then((list) =>
    context.lists.select(list, ['counterparties', id, text], () =>
      list.filter((entry) => (id == null || entry.id === id) && isFound(entry)),
    ),
  );
}

/** Selects the entries whose holder's name or IBAN contains a folded text. */
function entriesWith(text: string): (entry: OtherAccountRecord) => boolean {
  // A text of only white space must find no IBAN: trimmed, it is empty, and every IBAN contains the empty text.
  const iban = compactIban(text) || null;
  return ({ holder, IBAN }: { holder?: unknown; IBAN?: unknown }) =>
    (isObject(holder) && containsFolded(holder.name, text)) ||
    (iban !== null && typeof IBAN === 'string' && compactIban(IBAN).includes(iban));
}

/**
 * Finds a counterparty by a text. Ids are compared first, then IBANs, then account numbers. A text that several counterparties
 * share identifies none of them, because the wrong one could be paid. Errors: NOT_FOUND.
 */
export function findOtherAccount(
  list: readonly OtherAccountRecord[],
  ids: CounterpartyIds,
): OtherAccountRecord | null {
  const name = ids.otherAccountId;
  const withId = OtherAccount.entriesWith(list, ids);
  const [found, ...others] = withId.length > 0 ? withId : withNumber(list, name);
  if (others.length === 0) return found ?? null;
  throw new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${getOtherAccounts.id} holds several entries with the id, IBAN or number ${shownId(name)}: choose one from the list.`,
    { operation: getOtherAccounts.id },
  );
}

type CounterpartyIds = ViewIds & { readonly otherAccountId: string };

/**
 * Finds the payer's counterparty that has the id in a reference to an account; null if none, or several, have it.
 * Errors: those of getOtherAccounts.
 */
export async function findCounterparty(
  { record, bankId, accountId, viewId }: Part<AccountRefRecord>,
  context: ReadContext,
): Promise<typeof OtherAccount.$inferType | null> {
  const otherAccountId = unwrap(record.account_id);
  if (!otherAccountId || !accountId) return null;
  const payer = { bankId, accountId, viewId: viewId ?? context.defaults.viewId };
  const list = await loadAll(payer, context);
  const [found, ...others] = OtherAccount.entriesWith(list, { ...payer, otherAccountId });
  return found === undefined || others.length > 0 ? null : OtherAccount.nodesIn(list, payer)(found);
}

type ByNumber = ReadonlyMap<unknown, readonly OtherAccountRecord[]>;

const numbers = new WeakMap<object, { readonly byIban: ByNumber; readonly byNumber: ByNumber }>();

/**
 * The counterparties whose IBAN is `name`. If no IBAN matches, those whose account number is `name`. A list's index
 * is built once.
 */
function withNumber(list: readonly OtherAccountRecord[], name: string): readonly OtherAccountRecord[] {
  const { byIban, byNumber } = getOrMake(numbers, list, () => ({
    byIban: Map.groupBy(list, ({ IBAN }) => typeof IBAN === 'string' && compactIban(IBAN)),
    byNumber: Map.groupBy(list, ({ number }) => number),
  }));
  const iban = compactIban(name);
  // An empty text finds neither an empty number nor a missing one.
  return (iban && byIban.get(iban)) || (name && byNumber.get(name)) || [];
}

/** People and banks write an IBAN with or without spaces between groups of four. */
const compactIban = (iban: string) => iban.replaceAll(/\s/g, '').toUpperCase();

type PayeeIds = typeof Payee.$inferType;

/** A counterparty that was read. */
interface ReadOtherAccount extends ViewIds {
  readonly record: OtherAccountRecord;
}

/**
 * The payee of a payment to this counterparty. The bank's interface does not say which values of a counterparty belong into
 * `to`, which contains the id of an account and the code of a bank. bankql uses only the counterparty's `id` and its bank's
 * code: an IBAN or a number is not an id, and `bank` may be a name. If one of the two is missing or ambiguous, the result is
 * null, because the money could go to somebody else.
 * Errors: BANK_BAD_RESPONSE; those of getOtherAccounts.
 */
export function payeeOf(other: ReadOtherAccount, context: ReadContext): null | Promise<PayeeIds | null> {
  const accountId = unwrap(other.record.id);
  const bankId = bankCodeOf(other);
  if (!accountId || bankId === null || !isTaken(accountId) || !isTaken(bankId)) return null;
  // The whole list is needed, because a list that the bank has filtered may lack another entry with this id.
  return loadAll(other, context).then((list) => {
    const named = OtherAccount.entriesWith(list, { ...other, otherAccountId: accountId });
    const isSameBank = (record: OtherAccountRecord) =>
      [null, bankId].includes(bankCodeOf({ ...other, record }));
    return named.length <= 1 && named.every(isSameBank) ? { accountId, bankId } : null;
  });
}

/**
 * The code of a counterparty's bank; null if the record names no bank or two different ones. Errors:
 * BANK_BAD_RESPONSE.
 */
function bankCodeOf({ bankId, record }: ReadOtherAccount): string | null {
  const [bank, bic] = [unwrap(record.bank), unwrap(record.swift_bic)];
  if (!bic) return isCodeOf(bankId, bank) ? bankId : null;
  if (isCodeOf(bankId, bic)) return bankId;
  return isCodeOf(bankId, bank) ? null : bic;
}

/** Whether an id is valid in the input of a payment. */
const isTaken = (id: string): boolean => nullOnError(() => restId('to', id)) !== null;

/** The account at this bank that a counterparty stands for; null if the counterparty is not at this bank. */
export const linkedAccountOf = ({ bankId, record: { bank, swift_bic, id } }: ReadOtherAccount) =>
  [bank, swift_bic].some((code) => isCodeOf(bankId, code)) ? { accountId: id } : null;
