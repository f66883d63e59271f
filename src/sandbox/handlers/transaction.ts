import type { Transaction } from '../../contract/transaction.ts';
import { ownAccount, ownerView } from '../access.ts';
import type { Database } from '../database.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId } from '../identity.ts';
import { payeeOf } from '../payee.ts';
import { transfer, transferOrder } from '../transfer.ts';

function transactionOf(database: Database, accountId: string, transactionId: string): Transaction {
  const transaction = database.transactions.get(accountId, transactionId);
  if (!transaction) throw new HttpError(404, `The account ${accountId} has no transaction ${transactionId}`);
  return transaction;
}

/** A transaction of the account. Errors: HttpError 404 where it has none with this id, and as ownerView. */
export const getTransaction: Handler<'getTransaction'> = ({ ids, caller, database }) => {
  ownerView(database, ids, caller);
  return transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
};

/** The values of `{TYPE}`: each stands for the member of the metadata that the call is about. */
const metadataTypes: readonly string[] = ['comments', 'narrative', 'tags', 'where'];

/** What a body may say of a transaction's details: who acted on it. The rest is what the bank posted. */
const marks = [
  'approved_by_ip_address',
  'approved_by_user_id',
  'cancelled_by_ip_address',
  'cancelled_by_user_id',
  'paused_by_ip_address',
  'paused_by_user_id',
] as const;

/**
 * Replaces a transaction's `metadata` and keeps what the bank posted: of `details`, the body's marks (who approved,
 * paused or cancelled it) are taken, and amounts, texts and times stay. `other_account` and `uuid` stay too.
 * Errors: HttpError 400 for a `{TYPE}` that is no kind of metadata, 404 where the account has no such transaction (only transfers make new ones), 400 where
 *         `id` or `this_account` is not the path's, and as ownerView.
 */
export const putTransactions: Handler<'putTransactions'> = ({ ids, body, caller, database }) => {
  ownerView(database, ids, caller);
  if (!metadataTypes.includes(ids.TYPE))
    throw new HttpError(400, `{TYPE}: has to be one of ${metadataTypes.join(', ')}`);
  const posted = transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
  const id = ids.TRANSACTION_ID;
  if ((body.id ?? id) !== id) throw new HttpError(400, 'id: is not the id of the path');
  if ((body.this_account ?? ids.ACCOUNT_ID) !== ids.ACCOUNT_ID) {
    throw new HttpError(400, 'this_account: is not the account of the path');
  }
  const marked = Object.fromEntries(
    marks.flatMap((mark) => (body.details[mark] === undefined ? [] : [[mark, body.details[mark]]])),
  );
  const transaction = { ...posted, details: { ...posted.details, ...marked }, metadata: body.metadata };
  database.transactions.put(ids.ACCOUNT_ID, id, transaction);
  return transaction;
};

/**
 * Moves money to another account of this bank, or to a counterparty at another one.
 * Shape:  `{ "id": <transaction id>, "status": "COMPLETED" }`, or another status where the payee's bank does not take
 *         it (at once); the specification shows no answer.
 * Errors: HttpError 403 where the account is another's, 400 where `from` is not the path's account, the value
 *         does not fit or the funds do not suffice, 404 where there is no account to pay to.
 */
export const postMakeTransaction: Handler<'postMakeTransaction'> = ({ ids, body, caller, database, at }) => {
  ownAccount(database, ids.ACCOUNT_ID, caller);
  if ((body.from.account_id ?? ids.ACCOUNT_ID) !== ids.ACCOUNT_ID) {
    throw new HttpError(400, 'from.account_id: is not the account of the path');
  }
  if ((body.from.bank_id ?? bankId) !== bankId) {
    throw new HttpError(400, 'from.bank_id: is not the bank of the path');
  }
  const order = transferOrder(
    database,
    ids.ACCOUNT_ID,
    payeeOf(database, ids.ACCOUNT_ID, body.to),
    body.value,
  );
  const text = { type: 'TRANSFER', description: body.description, caller, at };
  return transfer(database, order, text, { isListed: true });
};
