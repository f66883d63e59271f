import { expect, test } from 'vitest';
import { alice } from '../../src/commands/announcements.ts';
import { startRecordedSandbox } from '../support/recorded-sandbox.ts';

test('the mutations of the staff are FORBIDDEN for customers at the sandbox', async () => {
  await using fixture = await startRecordedSandbox();
  const ask = async (document: string, caller: string) => {
    const { errors } = await fixture.bankql.ask(
      `mutation { ${document} }`,
      {},
      { ...alice, 'Auth-ID': caller },
    );
    return errors?.map(({ extensions }) => extensions.code);
  };
  for (const document of [
    'putAccount(input: { accountId: "alice-current", account: { balance: { amount: "1.00", currency: "EUR" } } }) { trackId }',
    'putBranch(input: { branchId: "nicosia-main", branch: { acceptsDeposits: true } }) { trackId }',
    'updateBranch(input: { branchId: "nicosia-main", changes: { name: "Mine" } }) { trackId }',
    'putProduct(input: { product: { productId: "current-plus", name: "Mine" } }) { trackId }',
    'updateProduct(input: { productId: "current-plus", changes: { name: "Mine" } }) { trackId }',
    'putCustomerMessage(input: { customerId: "alice", message: "m", fromDepartment: "d", fromPerson: "p" }) { trackId }',
  ]) {
    expect([document, await ask(document, 'alice')]).toEqual([document, ['FORBIDDEN']]);
    expect([document, await ask(document, 'staff')]).toEqual([document, undefined]);
  }
});
