import { getAccountsScope, putAccountID } from './account.ts';
import { getBranches, postBranches, putBranchID } from './branch.ts';
import { getCustomer, putCustomerID } from './customer.ts';
import { getMessagesOwner, putCustomerMessage } from './message.ts';
import { postMetadata } from './metadata.ts';
import type { Operation } from './operation.ts';
import { getOtherAccounts, postOtherAccounts } from './other-account.ts';
import { getProduct, postProducts, putProduct } from './product.ts';
import { getTransaction, postMakeTransaction, putTransactions } from './transaction.ts';
import { getTransactionsRequest, putTransactionsRequestAccount } from './transaction-request.ts';

/** The bank's operations, in the order of the specification's table. */
export const operations = {
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
} as const satisfies { readonly [Id in string]: Operation & { readonly id: Id } };

/** The name of one of the bank's operations. */
export type OperationId = keyof typeof operations;
