import type { OtherAccount } from '../contract/other-account.ts';
import type { AccountRef } from '../contract/shared-parts.ts';
import { customers } from './customers.ts';
import type { Database } from './database.ts';
import { closedAccount, isIban, slowAccount } from './iban.ts';
import { bankId } from './identity.ts';
import { accountOf, accounts } from './records/account.ts';
import { otherAccounts } from './records/other-account.ts';
import { HttpError } from './request-checks.ts';

/** The outcomes of transfers that do not complete, by the payee's IBAN at another bank. */
export const outcomes: Readonly<Record<string, 'FAILED' | 'PENDING'>> = {
  [closedAccount]: 'FAILED',
  [slowAccount]: 'PENDING',
};

/** The payee of a transfer: an account of this bank, or one at another bank. */
export interface Payee {
  /** The id of the account or of the counterparty. */
  readonly id: string;
  /** The counterparty, if the payee's account is at another bank; null for an account of this bank. */
  readonly outside: OtherAccount | null;
}

/** An account of this bank, by its id or its IBAN. */
function ownBankPayee(database: Database, named: string): Payee | null {
  if (accounts(database).get(named)) return { id: named, outside: null };
  if (!isIban(named)) return null;
  const id = accounts(database).all.find(({ IBAN }) => IBAN === named)?.id;
  return id == null ? null : { id, outside: null };
}

/** A counterparty of the account that pays, by its id, its IBAN or its number. */
function counterpartyPayee(database: Database, payerId: string, named: string): Payee | null {
  const found = otherAccounts(database, payerId).get(named) ?? findByNumber(database, payerId, named);
  if (!found) return null;
  const id = found.id ?? named;
  // A payment to an account of this bank is internal, whether an id, an IBAN or a counterparty names the account.
  return { id, outside: accounts(database).get(id) ? null : found };
}

function findByNumber(database: Database, payerId: string, named: string): OtherAccount | undefined {
  const all = otherAccounts(database, payerId).all;
  return all.find(({ IBAN }) => IBAN === named) ?? all.find(({ number }) => number === named);
}

/** The accepted values of `to.bank_id` for a payee. For a counterparty at another bank, this bank's code is one of them. */
const banksOf = ({ outside }: Payee) => [bankId, ...(outside ? [outside.bank, outside.swift_bic] : [])];

/**
 * Finds the payee of a request: an account of this bank by its id or IBAN; otherwise a counterparty of the paying
 * account by its id, IBAN or number; otherwise the holder of the IBAN at another bank, who becomes a counterparty when
 * paid.
 * Errors: HttpError 400 without an id, 404 if there is no such payee.
 */
export function payeeOf(database: Database, payerId: string, to: AccountRef): Payee {
  const { account_id: named, bank_id: bank } = to;
  if (!named) throw new HttpError(400, 'Invalid payee');
  const known = ownBankPayee(database, named) ?? counterpartyPayee(database, payerId, named);
  if (known && (bank == null || banksOf(known).includes(bank))) return known;
  if (!known && isIban(named) && bank !== bankId) {
    const outside = { id: named, IBAN: named, bank: bank ?? 'unknown', kind: 'account of another bank' };
    return { id: named, outside };
  }
  throw new HttpError(404, 'Payee not found');
}

/** A reference to another account, for an answer. */
export const payeeRef = ({ id, outside }: Payee): AccountRef => ({
  account_id: id,
  bank_id: outside ? (outside.swift_bic ?? outside.bank) : bankId,
});

/** Makes sure that the payee is a counterparty of the account `accountId`. */
export function ensureCounterparty(database: Database, accountId: string, { id, outside }: Payee): void {
  if (otherAccounts(database, accountId).get(id)) return;
  if (outside) {
    // A payee without an id already is a counterparty: it was found by its IBAN or number.
    if (outside.id === id) otherAccounts(database, accountId).put(id, outside);
    return;
  }
  const { owners, IBAN, number, swift_bic } = accountOf(database, id);
  const names = (owners ?? []).map((owner) => customers(database).get(owner)?.legal_name ?? owner);
  otherAccounts(database, accountId).put(id, {
    bank: bankId,
    holder: { is_alias: false, name: names.join(', ') },
    IBAN,
    id,
    kind: 'account of this bank',
    number,
    swift_bic,
  });
}
