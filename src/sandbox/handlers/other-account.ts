import { ownerView } from '../access.ts';
import type { Handler } from '../handler.ts';

/** The account's counterparties. Errors: as ownerView. */
export const getOtherAccounts: Handler<'getOtherAccounts'> = ({ ids, caller, database }) => {
  ownerView(database, ids, caller);
  return database.otherAccounts.of(ids.ACCOUNT_ID);
};

/** The counterparties with exactly this IBAN, and this id where one is given. Errors: as ownerView. */
export const postOtherAccounts: Handler<'postOtherAccounts'> = ({ ids, body, caller, database }) => {
  ownerView(database, ids, caller);
  return database.otherAccounts
    .of(ids.ACCOUNT_ID)
    .filter(({ IBAN, id }) => IBAN === body.IBAN && (body.id === undefined || id === body.id));
};
