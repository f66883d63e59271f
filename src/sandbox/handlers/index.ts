import type { OperationId } from '../../contract/operations.ts';
import type { Handler } from '../handler.ts';
import { getAccountsScope, putAccountID } from './account.ts';
import { getBranches, postBranches, putBranchID } from './branch.ts';
import { getCustomer, putCustomerID } from './customer.ts';
import { getMessagesOwner, putCustomerMessage } from './message.ts';
import { postMetadata } from './metadata.ts';
import { getOtherAccounts, postOtherAccounts } from './other-account.ts';
import { getProduct, postProducts, putProduct } from './product.ts';
import { getTransaction, postMakeTransaction, putTransactions } from './transaction.ts';
import { getTransactionsRequest, putTransactionsRequestAccount } from './transaction-request.ts';

/** What the sandbox does for each operation; one that is missing or superfluous does not compile. */
export const handlers = {
  putCustomerID,
  putBranchID,
  putTransactionsRequestAccount,
  putAccountID,
  postBranches,
  postOtherAccounts,
  putProduct,
  postMakeTransaction,
  postMetadata,
  postProducts,
  putCustomerMessage,
  putTransactions,
  getAccountsScope,
  getTransaction,
  getTransactionsRequest,
  getCustomer,
  getBranches,
  getOtherAccounts,
  getMessagesOwner,
  getProduct,
} satisfies { readonly [Id in OperationId]: Handler<Id> };
