import { expect, test } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { bankForAll, freshBank, recordsOf } from './bank-caller.ts';

const { call } = bankForAll();

async function found(id: OperationId, body: unknown, ids = {}): Promise<unknown[]> {
  return recordsOf(id, await call(id, ids, { body })).map((record) => record.id);
}

test('a branch query takes a branch’s id, or the bank’s for all of them', async () => {
  const all = recordsOf('getBranches', await call('getBranches')).map(({ id }) => id);
  expect(await found('postBranches', { id: 'SNDBCY2N' })).toEqual(all);
  expect(await found('postBranches', { id: 'tokyo-marunouchi' })).toEqual(['tokyo-marunouchi']);
  expect(await found('postBranches', { id: 'tokyo' })).toEqual([]);
});

test('a name is looked for within the name, in either case and any script', async () => {
  expect(await found('postBranches', { id: 'SNDBCY2N', name: 'СОФИЯ' })).toEqual(['sofia-vitosha']);
  expect(await found('postBranches', { id: 'SNDBCY2N', name: '支店' })).toEqual([
    'tokyo-marunouchi',
    'osaka-umeda',
  ]);
  expect(await found('postBranches', { id: 'nicosia-main', name: 'СОФИЯ' })).toEqual([]);
  expect(await found('postBranches', { id: 'sofia-vitosha', name: 'софия' })).toEqual(['sofia-vitosha']);
  expect(await found('postProducts', { id: 'SNDBCY2N', name: 'CURRENT ACCOUNT' })).toEqual([
    'current-basic',
    'current-plus',
    'business-current',
  ]);
});

test('a branch without a name has none that a query could hold', async () => {
  await using fresh = await freshBank();
  const ids = async (body: unknown) =>
    recordsOf('postBranches', await fresh.call('postBranches', {}, { body })).map(({ id }) => id);
  await fresh.call('putBranchID', { BRANCH_ID: 'nameless' }, { body: { acceptsDeposits: true } });
  expect(await ids({ id: 'nameless', name: '' })).toEqual([]);
  expect(await ids({ id: 'nameless' })).toEqual(['nameless']);
});

test('a product of a list has one bank_id, a single one a list', async () => {
  const [item] = recordsOf('postProducts', await call('postProducts', {}, { body: { id: 'current-plus' } }));
  const [single] = recordsOf('getProduct', await call('getProduct', { PRODUCT_ID: 'current-plus' }));
  expect(item?.bank_id).toBe('SNDBCY2N');
  expect(single).toEqual({ ...item, bank_id: ['SNDBCY2N'] });
});

test('an unknown product is not found', async () => {
  expect((await call('getProduct', { PRODUCT_ID: 'none' })).json).toEqual({
    code: 404,
    message: 'There is no product none',
  });
});

test('counterparties are found by their exact IBAN, and by id where two share it', async () => {
  const ids = { ACCOUNT_ID: 'alice-current' };
  const IBAN = 'CY17002001280000001200527600';
  expect(await found('postOtherAccounts', { IBAN }, ids)).toEqual(['payee-landlord', 'payee-deposit']);
  expect(await found('postOtherAccounts', { IBAN, id: 'payee-deposit' }, ids)).toEqual(['payee-deposit']);
  expect(await found('postOtherAccounts', { IBAN: IBAN.slice(0, 20) }, ids)).toEqual([]);
});

test('metadata entries are found by their id; an unknown one has none', async () => {
  const languages = recordsOf('postMetadata', await call('postMetadata', {}, { body: { id: 'languages' } }));
  expect(languages.map(({ code }) => code)).toEqual(['el', 'bg', 'ja', 'ar', 'en']);
  expect(await found('postMetadata', { id: 'nothing' })).toEqual([]);
});
