import type { TransactionRequest } from '../../contract/transaction-request.ts';
import { type Database, rowsOf } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { bankId } from '../identity.ts';
import { amountOf, centsOf } from '../money.ts';
import { payeeOf, payeeRef } from '../payee.ts';
import {
  requestUrl,
  type Transferred,
  type TransferStatus,
  transactionRequests,
  transfer,
  transferOrder,
} from '../transfer.ts';
import { ownAccount, ownerView } from './account.ts';

/**
 * The columns: customer; account that pays; account that is paid; amount; purpose; status; how many days before the start the
 * request was made; and, for each of its transfers, how many days before the start it was made. A transfer has the status of
 * its request. A standing order has several transfers. The rows are in the order of their ids. Within an account, each transfer
 * is later than the one before.
 */
const requestTable = `
  alice | alice-current | bob-current | 25.00 | Τρεις δόσεις | COMPLETED | 120 | 12 | 11 | 10
  alice | alice-current | alice-savings | 100.00 | Διακοπές | COMPLETED | 9 | 9
  alice | alice-current | omar-current | 1500.50 | هدية | INITIATED | 8
  alice | alice-savings | alice-current | 75.25 | Back to everyday | COMPLETED | 8 | 8 | 7
  bob | bob-current | alice-current | 40.10 | За билетите | COMPLETED | 6 | 6 | 5
  bob | bob-current | carol-current | 75.25 | Declined by the payee | FAILED | 5
  carol | family-joint | carol-current | 200.00 | 家賃 | COMPLETED | 4 | 4
  alice | alice-current | payee-electricity | 118.40 | Ρεύμα | FAILED | 3 | 3
  alice | alice-current | payee-rail | 64.90 | Wien und zurück | PENDING | 1 | 1
  alice | alice-current | payee-landlord | 650.00 | Ενοίκιο | CANCELLED | 2
  bob | bob-current | supplier-001 | 240.00 | Фактура 17 | COMPLETED | 4 | 4
  bob | bob-current | supplier-002 | 85.50 | Фактура 18 | COMPLETED | 3 | 3
  bob | bob-current | supplier-003 | 2400.00 | Фактура 19 | INITIATED | 3
  bob | bob-current | supplier-004 | 130.00 | Фактура 20 | CANCELLED | 2
  bob | bob-current | payee-closed | 99.95 | Returned: the account is closed | FAILED | 2 | 2
  bob | bob-current | payee-slow | 310.20 | Фактура 21 | PENDING | 1 | 1
  carol | family-joint | payee-slow | 450.00 | New boiler | PENDING | 1 | 1
  alice | family-joint | alice-savings | 1200.00 | Διακοπές | INITIATED | 1
  omar | omar-current | payee-closed | 700.00 | إيجار | FAILED | 2 | 2`;

/** Writes the transaction requests, and makes their transfers as the bank itself would. */
export function seedTransactionRequests(database: Database): void {
  for (const row of rowsOf(requestTable)) {
    const [caller = '', fromId = '', toId = '', amount = '', description, status = '', asked, ...made] = row;
    const payee = payeeOf(database, fromId, { account_id: toId });
    const order = { fromId, payee, currency: 'EUR', cents: centsOf('', amount, 'EUR') };
    const transactionIds = made.map((days) => {
      const text = { type: 'SANDBOX_TAN', description, caller, at: database.ago(Number(days)) };
      return transfer(database, order, text, { status: status as TransferStatus }).id;
    });
    const id = database.nextId('request');
    const isOpen = status === 'INITIATED' || status === 'PENDING';
    transactionRequests(database, fromId).put(id, {
      description,
      resource_url: requestUrl(fromId, id),
      status,
      ...(made.length > 0 && { transaction_ids: transactionIds.join(',') }),
      start_date: database.ago(Number(asked)),
      ...(!isOpen && { end_date: database.ago(Number(made.at(-1) ?? asked)) }),
      ...(status === 'INITIATED' && { challenge: 'SANDBOX_TAN' }),
      from: { account_id: fromId, bank_id: bankId },
      body: { to: payeeRef(payee), value: { currency: 'EUR', amount } },
    });
  }
}

/** The largest amount, in the account's currency, of a request without a challenge. */
const withoutChallenge = '1000';

/** The members of a request about its transfer. A pending transfer has no end yet. */
const outcomeOf = ({ id, status }: Transferred, at: string) => ({
  status,
  transaction_ids: id,
  ...(status !== 'PENDING' && { end_date: at }),
});

export const transactionRequestHandlers: Handlers<
  'getTransactionsRequest' | 'putTransactionsRequestAccount'
> = {
  /** The account's transaction requests, oldest first. Errors: as ownerView. */
  getTransactionsRequest: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    const start = ({ start_date }: TransactionRequest) => Date.parse(start_date ?? '') || 0;
    return transactionRequests(database, ids.ACCOUNT_ID).all.toSorted(
      (one, other) => start(one) - start(other),
    );
  },

  /**
   * Asks for a transfer to another account of this bank, or to a counterparty at another one. A transfer of up to
   * 1,000 is made at once: the request is COMPLETED, or has the status that the payee's bank gives it. A request for more, or
   * without a value, waits for its challenge (INITIATED), which no operation can answer.
   * Shape:  only the new request.
   * Errors: HttpError 400 if the value does not fit or the funds do not suffice, 404 if there is nobody to pay to, and
   *         as ownerView.
   */
  putTransactionsRequestAccount: (call) => {
    const { ids, body, caller, database, at } = call;
    ownerView(database, ids, caller);
    ownAccount(database, ids.ACCOUNT_ID, caller);
    const payee = payeeOf(database, ids.ACCOUNT_ID, body.to);
    const order = body.value && transferOrder(database, ids.ACCOUNT_ID, payee, body.value);
    const atOnce = order && order.cents <= centsOf('value.amount', withoutChallenge, order.currency);
    const text = { type: ids.TYPE, description: body.description, caller, at };
    const made = atOnce && transfer(database, order, text);

    const id = database.nextId('request');
    const request = transactionRequests(database, ids.ACCOUNT_ID).put(id, {
      description: body.description,
      resource_url: requestUrl(ids.ACCOUNT_ID, id),
      start_date: at,
      ...(made ? outcomeOf(made, at) : { status: 'INITIATED', challenge: body.challenge_type ?? ids.TYPE }),
      from: { account_id: ids.ACCOUNT_ID, bank_id: bankId },
      body: {
        to: payeeRef(payee),
        value: order && { currency: order.currency, amount: amountOf(order.cents, order.currency) },
      },
    });
    return [request];
  },
};
