import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { branchRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeBranch on Branch {
    bankId
    branchId
    bank { bankId }
    bankName
    name
    acceptsDeposits
    address { line1 line2 line3 city state postcode country }
    lobby { is24Hours }
    location { latitude longitude }
    meta { license }
  }
`);

const WholeBranches = graphql(`
  query WholeBranches($bankId: ID, $filter: BranchFilter) {
    bank(bankId: $bankId) { branches(filter: $filter) { totalCount nodes { ...WholeBranch } } }
  }
`);

const WholeBranchQuery = graphql(`
  query WholeBranchQuery($branchId: ID!) { bank { branch(branchId: $branchId) { ...WholeBranch } } }
`);

const PutWholeBranch = graphql(`
  mutation PutWholeBranch($input: PutBranchInput!) {
    putBranch(input: $input) { trackId branch { ...WholeBranch } }
  }
`);

const UpdateName = graphql(`
  mutation UpdateBranchName($branchId: ID!) {
    updateBranch(input: { branchId: $branchId, changes: { name: "New" } }) { branch { name } }
  }
`);

const wholeBranch = {
  bankId: 'BANK',
  branchId: 'branch-id',
  bank: { bankId: 'BANK' },
  bankName: 'branch-bank',
  name: 'branch-name',
  acceptsDeposits: true,
  address: {
    line1: 'line-1',
    line2: 'line-2',
    line3: 'line-3',
    city: 'city',
    state: 'state',
    postcode: 'postcode',
    country: 'country',
  },
  lobby: { is24Hours: false },
  location: { latitude: 37.97945, longitude: 23.71622 },
  meta: { license: 'license' },
};

const leastBranch = {
  bankId: 'BANK',
  branchId: null,
  bank: { bankId: 'BANK' },
  bankName: null,
  name: null,
  acceptsDeposits: false,
  address: null,
  lobby: null,
  location: null,
  meta: null,
};

const list = 'GET /v1/api/banks/BANK/branches';

describe('getBranches', () => {
  test('answers every field from its own place, and null for what is left out', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [branchRecord, { acceptsDeposits: false }] } });
    const result = await fixture.ask(WholeBranches, {});
    expect(result).toEqual({
      data: { bank: { branches: { totalCount: 2, nodes: [wholeBranch, leastBranch] } } },
    });
    expect(onlyCall(fixture.bank).body).toBe('');
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('answers one branch, found by its id in the list', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [{ acceptsDeposits: false, id: 'another' }, branchRecord] } });
    const result = await fixture.ask(WholeBranchQuery, { branchId: 'branch-id' });
    expect(result).toEqual({ data: { bank: { branch: wholeBranch } } });
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('takes the first of two branches with one id', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, {
      body: { branches: [branchRecord, { acceptsDeposits: false, id: 'branch-id', name: 'second' }] },
    });
    const result = await fixture.ask(WholeBranchQuery, { branchId: 'branch-id' });
    expect(result.data?.bank?.branch?.name).toBe('branch-name');
  });

  test('does not update one of two branches with one id', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, {
      body: { branches: [branchRecord, { acceptsDeposits: false, id: 'branch-id', name: 'second' }] },
    });
    const result = await fixture.ask(UpdateName, { branchId: 'branch-id' });
    expect(result.errors).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/several branches with the id branch-id.*Nothing was written\.$/),
        path: ['updateBranch'],
        extensions: expect.objectContaining({ code: 'BANK_BAD_RESPONSE', operation: 'getBranches' }),
      }),
    ]);
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('says NOT_FOUND for a branch that the list does not hold', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [branchRecord, { acceptsDeposits: false }] } });
    const result = await fixture.ask(WholeBranchQuery, { branchId: 'nowhere' });
    expect(result).toMatchObject({
      data: { bank: { branch: null } },
      errors: [{ path: ['bank', 'branch'], extensions: { code: 'NOT_FOUND', operation: 'getBranches' } }],
    });
  });
});

describe('postBranches', () => {
  test.each([
    ['with a name', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['without a name', { id: 'Q' }, '{"id":"Q"}'],
    ['with a name that is null', { id: 'Q', name: null }, '{"id":"Q"}'],
  ])('answers branches that a filter asks for, %s', async (_, filter, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('POST /v1/api/banks/B2/branches', { body: { branches: [branchRecord] } });
    const result = await fixture.ask(WholeBranches, { bankId: 'B2', filter });
    const there = { ...wholeBranch, bankId: 'B2', bank: { bankId: 'B2' } };
    expect(result).toEqual({ data: { bank: { branches: { totalCount: 1, nodes: [there] } } } });
    expect(onlyCall(fixture.bank).body).toBe(body);
  });

  test('is not asked where the filter is null', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { branches: [] } });
    const result = await fixture.ask(WholeBranches, { filter: null });
    expect(result).toEqual({ data: { bank: { branches: { totalCount: 0, nodes: [] } } } });
    expect(fixture.bank.lines()).toEqual([list]);
  });
});

describe('putBranch', () => {
  const line = 'PUT /v1/api/banks/BANK/branches/branch-id';
  const address = {
    line1: '1',
    line2: '2',
    line3: '3',
    city: 'c',
    state: 's',
    postcode: 'p',
    country: 'y',
  };

  test('sends every field in its own place, and answers the branch as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: branchRecord });
    const result = await fixture.ask(PutWholeBranch, {
      input: {
        branchId: 'branch-id',
        branch: {
          acceptsDeposits: false,
          address,
          bank: 'b',
          id: 'i',
          lobby: { is24Hours: true },
          location: { latitude: -1.25, longitude: 0 },
          meta: { license: 'l' },
          name: 'n',
        },
      },
    });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual({
      acceptsDeposits: false,
      address: { line_1: '1', line_2: '2', line_3: '3', city: 'c', state: 's', postcode: 'p', country: 'y' },
      bank: 'b',
      id: 'i',
      lobby: { is24Hours: true },
      location: { latitude: { number: '-1.25' }, longitude: { number: '0' } },
      meta: { license: 'l' },
      name: 'n',
    });
    expect(result).toEqual({
      data: { putBranch: { trackId: call.headers['track-id'], branch: wholeBranch } },
    });
    expect(fixture.bank.lines()).toEqual([line]);
  });

  test.each([
    ['left out', { acceptsDeposits: true, address: { city: 'c' }, location: { latitude: 1 } }],
    [
      'null',
      {
        acceptsDeposits: true,
        address: {
          line1: null,
          line2: null,
          line3: null,
          city: 'c',
          state: null,
          postcode: null,
          country: null,
        },
        bank: null,
        id: null,
        lobby: null,
        location: { latitude: 1, longitude: null },
        meta: null,
        name: null,
      },
    ],
  ])('sends none of the fields that are %s', async (_, branch) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { acceptsDeposits: true } });
    const result = await fixture.ask(PutWholeBranch, { input: { branchId: 'branch-id', branch } });
    expect(sentJson(onlyCall(fixture.bank))).toEqual({
      acceptsDeposits: true,
      address: { city: 'c' },
      location: { latitude: { number: '1' } },
    });
    expect(result.data?.putBranch?.branch).toEqual({
      ...leastBranch,
      acceptsDeposits: true,
      branchId: 'branch-id',
    });
  });

  test('sends the one required field alone', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { acceptsDeposits: true } });
    await fixture.ask(PutWholeBranch, {
      input: { branchId: 'branch-id', branch: { acceptsDeposits: true, address: null, location: null } },
    });
    expect(onlyCall(fixture.bank).body).toBe('{"acceptsDeposits":true}');
  });
});
