import type { Transaction } from '../../contract/transaction.ts';
import { ownAccount, ownerView } from '../access.ts';
import type { Database } from '../database.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId } from '../identity.ts';
import { payeeOf, transfer, transferOrder } from '../transfer.ts';

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

/**
 * Replaces a transaction's `details` and `metadata`, and moves no money by it. `other_account` and `uuid` stay
 * where the body has none; any `{TYPE}` does the same.
 * Errors: HttpError 404 where the account has no such transaction (only transfers make new ones), 400 where
 *         `id` or `this_account` is not the path's, and as ownerView.
 */
export const putTransactions: Handler<'putTransactions'> = ({ ids, body, caller, database }) => {
  ownerView(database, ids, caller);
  const { other_account, uuid } = transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
  const id = ids.TRANSACTION_ID;
  if ((body.id ?? id) !== id) throw new HttpError(400, 'id: is not the id of the path');
  if ((body.this_account ?? ids.ACCOUNT_ID) !== ids.ACCOUNT_ID) {
    throw new HttpError(400, 'this_account: is not the account of the path');
  }
  const transaction = { other_account, uuid, ...body, id, this_account: ids.ACCOUNT_ID };
  database.transactions.put(ids.ACCOUNT_ID, id, transaction);
  return transaction;
};

/**
 * Moves money to another account of this bank.
 * Shape:  `{ "id": <transaction id>, "status": "COMPLETED" }`; the specification shows no answer.
 * Errors: HttpError 403 where the account is another's, 400 where `from` is not the path's account, the value
 *         does not fit or the funds do not suffice, 404 where there is no account to pay to.
 */
export const postMakeTransaction: Handler<'postMakeTransaction'> = ({ ids, body, caller, database }) => {
  ownAccount(database, ids.ACCOUNT_ID, caller);
  if ((body.from.account_id ?? ids.ACCOUNT_ID) !== ids.ACCOUNT_ID) {
    throw new HttpError(400, 'from.account_id: is not the account of the path');
  }
  if ((body.from.bank_id ?? bankId) !== bankId) {
    throw new HttpError(400, 'from.bank_id: is not the bank of the path');
  }
  const order = transferOrder(database, ids.ACCOUNT_ID, payeeOf(database, body.to), body.value);
  const id = transfer(database, order, {
    type: 'TRANSFER',
    description: body.description,
    caller,
    at: new Date().toISOString(),
  });
  return { id, status: 'COMPLETED' };
};
