import type { Transaction, TransactionMetadata } from '../../contract/transaction.ts';
import type { Database } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { bankId } from '../identity.ts';
import { amountOf, centsOf } from '../money.ts';
import { payeeOf } from '../payee.ts';
import { checkOfPath, found, HttpError } from '../request-checks.ts';
import { addToStatement, transactions, transfer, transferOrder, uuidOf } from '../transfer.ts';
import { ownAccount, ownerView, seededAccounts } from './account.ts';
import { payeesOf } from './other-account.ts';

const notes: readonly TransactionMetadata[] = [
  { comments: 'Thanks!', narrative: 'Monthly', tags: 'home,monthly', where: 'Nicosia' },
  { comments: 'Καλό μήνα', tags: 'σπίτι', where: 'Λευκωσία' },
  { comments: 'Спасибо', narrative: 'По договору', where: 'София' },
  { comments: 'ありがとう', tags: '本,旅行', where: '東京' },
  { comments: 'شكرًا', where: 'القاهرة' },
  { comments: '🙂 merci', tags: 'été' },
];

const descriptions = ['Salary', 'Ενοίκιο', 'Покупка', '本と雑誌', 'بقالة', 'Fahrkarte', 'Prime annuelle'];

const hour = 3_600_000;
/** The histories end this number of days before the start. The transfers of the seeded requests come later. */
const daysSince = 13;

/** A deterministic random generator (mulberry32). */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/**
 * The amounts that an account paid and received, in cents, oldest first: four payments, then a credit of about
 * their sum.
 */
function valuesOf(count: number, below: (n: number) => number): bigint[] {
  const values: bigint[] = [];
  let paid = 0n;
  for (let step = 0; step < count; step++) {
    const cents = BigInt(400 + below(11_000));
    const isIncome = step % 5 === 4;
    values.push(isIncome ? cents + paid : -cents);
    paid = isIncome ? 0n : paid + cents;
  }
  return values;
}

/** Makes the history of each account, which ends with the account's balance. */
export function seedTransactions(database: Database): void {
  const below = generator(20_250_106);
  const last = Date.parse(database.ago(daysSince, '08:30'));
  seededAccounts.forEach((account, accountIndex) => {
    const [employer, ...payees] = payeesOf(accountIndex);
    const { currency } = account;
    const values = valuesOf(account.history, below);
    let balance = values.reduce((rest, value) => rest - value, centsOf('', account.amount, currency));
    const lines = values.map((value, step) => {
      balance += value;
      const id = database.nextId('tx');
      const posted = last - (accountIndex + (values.length - 1 - step) * 53) * hour;
      const at = new Date(posted).toISOString();
      const incoming = step % 5 === 4;
      const transaction: Transaction = {
        id,
        uuid: uuidOf(id),
        this_account: account.id,
        other_account: (incoming ? employer : payees[step % payees.length])?.id,
        details: {
          type: incoming ? 'SALARY' : step % 2 === 0 ? 'SEPA' : 'CARD',
          status: 'COMPLETED',
          description: descriptions[incoming ? 0 : 1 + (step % (descriptions.length - 1))],
          value: { currency, amount: amountOf(value, currency) },
          new_balance: { currency, amount: amountOf(balance, currency) },
          posted: at,
          posted_by_user_id: account.account.owners?.[0],
          posted_by_ip_address: '192.0.2.10',
          completed: new Date(posted + 2 * hour).toISOString(),
          approved_by_user_id: account.account.owners?.[0],
          approved_by_ip_address: '192.0.2.10',
          ...(step % 8 === 3 && { paused_by_user_id: 'fraud-desk', paused_by_ip_address: '198.51.100.7' }),
        },
        // Some transactions have no metadata.
        metadata: step % 7 === 6 ? undefined : notes[(accountIndex + step) % notes.length],
      };
      transactions(database, account.id).put(id, transaction);
      return { transactionId: id, at };
    });
    addToStatement(database, account.id, ...lines);
  });
}

/** Errors: HttpError 404. */
const transactionOf = (database: Database, accountId: string, id: string): Transaction =>
  found(transactions(database, accountId).get(id), `The account ${accountId} has no transaction ${id}`);

/** The values of `{TYPE}`: the members of a transaction's metadata. */
const metadataTypes: readonly string[] = ['comments', 'narrative', 'tags', 'where'];

/**
 * The members of a transaction's details that a body may change: they say who acted on the transaction. The other
 * members are what the bank posted.
 */
const marks = [
  'approved_by_ip_address',
  'approved_by_user_id',
  'cancelled_by_ip_address',
  'cancelled_by_user_id',
  'paused_by_ip_address',
  'paused_by_user_id',
] as const;

export const transactionHandlers: Handlers<'getTransaction' | 'putTransactions' | 'postMakeTransaction'> = {
  /** A transaction of the account. Errors: HttpError 404 if the account has no transaction with this id, and as ownerView. */
  getTransaction: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    return transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
  },

  /**
   * Replaces a transaction's `metadata`. Of the body's `details`, only the marks are taken: who approved, paused or cancelled
   * the transaction. What the bank posted stays: amounts, texts and times, `other_account` and `uuid`.
   * Errors: HttpError 400 for a `{TYPE}` that is no kind of metadata, or if `id` or `this_account` is not the path's; 404 if
   * the account has no such transaction (only transfers make new ones); and as ownerView.
   */
  putTransactions: ({ ids, body, caller, database }) => {
    ownerView(database, ids, caller);
    if (!metadataTypes.includes(ids.TYPE))
      throw new HttpError(400, `{TYPE}: has to be one of ${metadataTypes.join(', ')}`);
    const posted = transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
    const id = ids.TRANSACTION_ID;
    checkOfPath('id', body.id, id, 'id');
    checkOfPath('this_account', body.this_account, ids.ACCOUNT_ID, 'account');
    const marked = Object.fromEntries(
      marks.flatMap((mark) => (body.details?.[mark] === undefined ? [] : [[mark, body.details[mark]]])),
    );
    const details = { ...posted.details, ...marked };
    return transactions(database, ids.ACCOUNT_ID).put(id, { ...posted, details, metadata: body.metadata });
  },

  /**
   * Moves money to another account of this bank, or to a counterparty at another one.
   * Shape: `{ "id": <transaction id>, "status": "COMPLETED" }`, or another status if the payee's bank refuses it or has not
   * taken it yet. The specification shows no answer.
   * Errors: HttpError 403 if the account is another's, 400 if `from` is not the path's account, the value does not fit or the
   * funds do not suffice, 404 if there is no account to pay to.
   */
  postMakeTransaction: ({ ids, body, caller, database, at }) => {
    ownAccount(database, ids.ACCOUNT_ID, caller);
    checkOfPath('from.account_id', body.from.account_id, ids.ACCOUNT_ID, 'account');
    checkOfPath('from.bank_id', body.from.bank_id, bankId, 'bank');
    const payee = payeeOf(database, ids.ACCOUNT_ID, body.to);
    const order = transferOrder(database, ids.ACCOUNT_ID, payee, body.value);
    const text = { type: 'TRANSFER', description: body.description, caller, at };
    return transfer(database, order, text, { isListed: true });
  },
};
