import { ownerView } from '../access.ts';
import { compare } from '../decimal.ts';
import type { Handler } from '../handler.ts';
import { bankId } from '../identity.ts';
import { requestUrl } from '../request-url.ts';
import { payeeOf, transfer, transferOrder } from '../transfer.ts';

/** The most, in the account's currency, that a request moves without a challenge. */
const withoutChallenge = '1000';

/** The account's transaction requests, oldest first. Errors: as ownerView. */
export const getTransactionsRequest: Handler<'getTransactionsRequest'> = ({ ids, caller, database }) => {
  ownerView(database, ids, caller);
  return database.transactionRequests.of(ids.ACCOUNT_ID);
};

/**
 * Asks for a transfer to another account of this bank. Up to 1,000 it is made at once (COMPLETED); above that,
 * or without a value, the request waits for its challenge (INITIATED), which no operation can answer.
 * Shape:  the new request alone.
 * Errors: HttpError 400 where the value does not fit or the funds do not suffice, 404 where there is no account
 *         to pay to, and as ownerView.
 */
export const putTransactionsRequestAccount: Handler<'putTransactionsRequestAccount'> = (call) => {
  const { ids, body, caller, database } = call;
  ownerView(database, ids, caller);
  const toId = payeeOf(database, body.to);
  const order = body.value && transferOrder(database, ids.ACCOUNT_ID, toId, body.value);
  const atOnce = order && compare(order.amount, withoutChallenge) <= 0;

  const id = database.nextId('request');
  const at = new Date().toISOString();
  const outcome = atOnce
    ? {
        status: 'COMPLETED',
        transaction_ids: transfer(database, order, {
          type: ids.TYPE,
          description: body.description,
          caller,
          at,
        }),
        end_date: at,
      }
    : { status: 'INITIATED', challenge: body.challenge_type ?? ids.TYPE };
  const request = {
    description: body.description,
    resource_url: requestUrl(ids.ACCOUNT_ID, id),
    start_date: at,
    ...outcome,
    from: { account_id: ids.ACCOUNT_ID, bank_id: bankId },
    body: {
      to: { account_id: toId, bank_id: bankId },
      value: order && { currency: order.currency, amount: order.amount },
    },
  };
  database.transactionRequests.put(ids.ACCOUNT_ID, id, request);
  return [request];
};
