import { expect, test } from 'vitest';
import { pathIds, pathOf } from '../../src/bank/request.ts';
import { operations } from '../../src/contract/operations.ts';

const ids = {
  bankId: 'bank',
  accountId: 'account',
  viewId: 'view',
  customerId: 'customer',
  branchId: 'branch',
  productId: 'product',
  transactionId: 'transaction',
  scope: 'scope',
  TYPE: 'type',
};

test.each([
  ['getBranches', '/v1/api/banks/bank/branches'],
  ['getCustomer', '/v1/api/banks/bank/customers/customer'],
  ['putBranchID', '/v1/api/banks/bank/branches/branch'],
  ['getProduct', '/v1/api/banks/bank/products/product'],
  ['putAccountID', '/v1/api/banks/bank/accounts/account'],
  ['getAccountsScope', '/v1/api/banks/bank/accounts/account/view/scope'],
  ['getOtherAccounts', '/v1/api/banks/bank/accounts/account/view/other_accounts'],
  ['getTransaction', '/v1/api/banks/bank/accounts/account/view/transactions/transaction/transaction'],
  ['putTransactions', '/v1/api/banks/bank/accounts/account/view/transactions/transaction/metadata/type'],
  ['postMetadata', '/v1/api/metadata'],
] as const)('the ids of %s fill its path, and no others are sent', (id, path) => {
  expect(pathOf(operations[id], ids)).toBe(path);
  const filled = pathIds(operations[id], ids);
  expect(pathOf(operations[id], filled)).toBe(path);
  expect(Object.keys(filled)).toHaveLength(operations[id].path.split('{').length - 1);
});
