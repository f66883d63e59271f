/**
 * The ids that paths of REST operations need, from the names that GraphQL gives them, for reads and writes alike.
 */

export interface BankIds {
  readonly bankId: string;
}
export interface CustomerIds extends BankIds {
  readonly customerId: string;
}
export interface BranchIds extends BankIds {
  readonly branchId: string;
}
export interface ProductIds extends BankIds {
  readonly productId: string;
}
export interface AccountIds extends BankIds {
  readonly accountId: string;
}
/** An account as seen through one of its views. */
export interface ViewIds extends AccountIds {
  readonly viewId: string;
}
export interface TransactionIds extends ViewIds {
  readonly transactionId: string;
}

export const inBank = ({ bankId }: BankIds) => ({ BANK_ID: bankId });

export const inCustomer = ({ bankId, customerId }: CustomerIds) => ({
  BANK_ID: bankId,
  CUSTOMER_ID: customerId,
});

export const inBranch = ({ bankId, branchId }: BranchIds) => ({ BANK_ID: bankId, BRANCH_ID: branchId });

export const inProduct = ({ bankId, productId }: ProductIds) => ({ BANK_ID: bankId, PRODUCT_ID: productId });

export const inAccount = ({ bankId, accountId }: AccountIds) => ({ BANK_ID: bankId, ACCOUNT_ID: accountId });

export const inView = ({ bankId, accountId, viewId }: ViewIds) => ({
  BANK_ID: bankId,
  ACCOUNT_ID: accountId,
  VIEW_ID: viewId,
});

export const inTransaction = ({ transactionId, ...view }: TransactionIds) => ({
  ...inView(view),
  TRANSACTION_ID: transactionId,
});
