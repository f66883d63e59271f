import type { TransactionRequest } from '../../contract/transaction-request.ts';
import { ownAccount, ownerView } from '../access.ts';
import { compare } from '../decimal.ts';
import type { Handler } from '../handler.ts';
import { bankId } from '../identity.ts';
import { payeeOf, payeeRef } from '../payee.ts';
import { requestUrl } from '../request-url.ts';
import { type Transferred, transfer, transferOrder } from '../transfer.ts';

/** The most, in the account's currency, that a request moves without a challenge. */
const withoutChallenge = '1000';

/** The account's transaction requests, oldest first. Errors: as ownerView. */
export const getTransactionsRequest: Handler<'getTransactionsRequest'> = ({ ids, caller, database }) => {
  ownerView(database, ids, caller);
  const start = ({ start_date }: TransactionRequest) => Date.parse(start_date ?? '') || 0;
  return database.transactionRequests.of(ids.ACCOUNT_ID).toSorted((one, other) => start(one) - start(other));
};

/**
 * Asks for a transfer to another account of this bank, or to a counterparty at another one. Up to 1,000 it is made
 * at once (COMPLETED, or what the payee's bank does with it); above that, or without a value, the request waits for
 * its challenge (INITIATED), which no operation can answer.
 * Shape:  the new request alone.
 * Errors: HttpError 400 where the value does not fit or the funds do not suffice, 404 where there is nobody to pay
 *         to, and as ownerView.
 */
export const putTransactionsRequestAccount: Handler<'putTransactionsRequestAccount'> = (call) => {
  const { ids, body, caller, database, at } = call;
  ownerView(database, ids, caller);
  ownAccount(database, ids.ACCOUNT_ID, caller);
  const payee = payeeOf(database, ids.ACCOUNT_ID, body.to);
  const order = body.value && transferOrder(database, ids.ACCOUNT_ID, payee, body.value);
  const atOnce = order && compare(order.amount, withoutChallenge) <= 0;

  const id = database.nextId('request');
  const text = { type: ids.TYPE, description: body.description, caller, at };
  const request = {
    description: body.description,
    resource_url: requestUrl(ids.ACCOUNT_ID, id),
    start_date: at,
    ...(atOnce
      ? outcomeOf(transfer(database, order, text), at)
      : { status: 'INITIATED', challenge: body.challenge_type ?? ids.TYPE }),
    from: { account_id: ids.ACCOUNT_ID, bank_id: bankId },
    body: {
      to: payeeRef(payee),
      value: order && { currency: order.currency, amount: order.amount },
    },
  };
  database.transactionRequests.put(ids.ACCOUNT_ID, id, request);
  return [request];
};

/** What a request says of the transfer that it led to; one that is pending has no end yet. */
const outcomeOf = ({ id, status }: Transferred, at: string) => ({
  status,
  transaction_ids: id,
  ...(status !== 'PENDING' && { end_date: at }),
});
