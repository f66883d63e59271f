import { describe, expect, test } from 'vitest';
import { failuresOf, onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { branchRecord } from '../support/full-records.ts';

const list = 'GET /v1/api/banks/BANK/branches';
const one = (branchId: string) => `{ bank { branch(branchId: "${branchId}") { branchId name } } }`;
const second = { acceptsDeposits: false, id: 'branch-id', name: 'second' };
const whole = { branchId: 'branch-id', name: 'branch-name' };

describe('a branch', () => {
  test.each([
    ['found by its id in the list', [{ acceptsDeposits: false, id: 'another' }, branchRecord]],
    ['the first of two with one id', [branchRecord, second]],
  ])('is %s', async (_, branches) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches } });
    expect(await fixture.ask(one('branch-id'))).toEqual({ data: { bank: { branch: whole } } });
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('is not updated if it is one of two with one id', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [branchRecord, second] } });
    const { errors } = await fixture.ask(
      'mutation { updateBranch(input: { branchId: "branch-id", changes: { name: "New" } }) { branch { name } } }',
    );
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/several branches with the id branch-id.*Nothing was written\.$/),
        path: ['updateBranch'],
        extensions: expect.objectContaining({ code: 'BANK_BAD_RESPONSE', operation: 'getBranches' }),
      }),
    ]);
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('that the list does not hold is NOT_FOUND', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [branchRecord, { acceptsDeposits: false }] } });
    const result = await fixture.ask(one('nowhere'));
    expect(result.data).toEqual({ bank: { branch: null } });
    expect(failuresOf(result)).toEqual(['bank.branch NOT_FOUND']);
    expect(result.errors?.[0]?.extensions.operation).toBe('getBranches');
  });
});

describe('branches', () => {
  const BranchesOf = `query ($bankId: ID, $filter: BranchFilter) {
    bank(bankId: $bankId) { branches(filter: $filter) { totalCount nodes { bankId branchId name } } }
  }`;

  test.each([
    ['with a name', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['without a name', { id: 'Q' }, '{"id":"Q"}'],
    ['with a name that is null', { id: 'Q', name: null }, '{"id":"Q"}'],
  ])('are those that a filter asks the bank for, %s', async (_, filter, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('POST /v1/api/banks/B2/branches', { body: { branches: [branchRecord] } });
    const result = await fixture.ask(BranchesOf, { bankId: 'B2', filter });
    const nodes = [{ ...whole, bankId: 'B2' }];
    expect(result).toEqual({ data: { bank: { branches: { totalCount: 1, nodes } } } });
    expect(onlyCall(fixture.bank).body).toBe(body);
  });

  test('are all of the list where the filter is null', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [] } });
    const result = await fixture.ask(BranchesOf, { filter: null });
    expect(result).toEqual({ data: { bank: { branches: { totalCount: 0, nodes: [] } } } });
    expect(fixture.bank.lines()).toEqual([list]);
  });
});
