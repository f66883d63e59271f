import { expect, test } from 'vitest';
import { expandPath } from '../../src/bank/request.ts';
import { operations } from '../../src/contract/operations.ts';
import {
  inAccount,
  inBank,
  inBranch,
  inCustomer,
  inProduct,
  inTransaction,
  inView,
} from '../../src/loaders/loaders.ts';

const ids = {
  bankId: 'bank',
  accountId: 'account',
  viewId: 'view',
  customerId: 'customer',
  branchId: 'branch',
  productId: 'product',
  transactionId: 'transaction',
};

test.each([
  ['getBranches', inBank, '/v1/api/banks/bank/branches'],
  ['getCustomer', inCustomer, '/v1/api/banks/bank/customers/customer'],
  ['putBranchID', inBranch, '/v1/api/banks/bank/branches/branch'],
  ['getProduct', inProduct, '/v1/api/banks/bank/products/product'],
  ['putAccountID', inAccount, '/v1/api/banks/bank/accounts/account'],
  ['getOtherAccounts', inView, '/v1/api/banks/bank/accounts/account/view/other_accounts'],
  [
    'getTransaction',
    inTransaction,
    '/v1/api/banks/bank/accounts/account/view/transactions/transaction/transaction',
  ],
] as const)('the ids of %s fill its path', (operation, toRestIds, path) => {
  expect(expandPath(operations[operation].path, toRestIds(ids))).toBe(path);
});
