import { describe, expect, test } from 'vitest';
import { type OperationId, operations } from '../../src/contract/operations.ts';
import { bankForAll, type CallOptions, freshBank, recordsIn } from './bank-caller.ts';

type Example = readonly [Readonly<Record<string, string>>, CallOptions?];

/** The ids in the paths of GETs to which the bank answers 200. */
const ids = {
  ACCOUNT_ID: 'alice-current',
  CUSTOMER_ID: 'alice',
  PRODUCT_ID: 'current-plus',
  TRANSACTION_ID: 'tx-0002',
  scope: 'permissions',
};

/** A call of each other operation to which the bank answers 200. */
const withBody: Readonly<Partial<Record<OperationId, Example>>> = {
  putCustomerID: [{ CUSTOMER_ID: 'alice' }, { body: { legal_name: 'Alice', bank_id: ['SNDBCY2N'] } }],
  putBranchID: [{ BRANCH_ID: 'nicosia-main' }, { body: { acceptsDeposits: true, name: 'Κεντρικό' } }],
  putTransactionsRequestAccount: [
    { ACCOUNT_ID: 'alice-current', TYPE: 'SANDBOX_TAN' },
    { body: { to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '1.50' } } },
  ],
  putAccountID: [
    { ACCOUNT_ID: 'alice-new' },
    { body: { balance: { currency: 'EUR', amount: '0.10' } }, caller: 'staff' },
  ],
  postBranches: [{}, { body: { id: 'SNDBCY2N', name: 'πάφος' } }],
  postOtherAccounts: [{ ACCOUNT_ID: 'alice-current' }, { body: { IBAN: 'GR1601101250000000012300695' } }],
  putProduct: [{}, { body: { bank_id: 'SNDBCY2N', name: '定期預金' } }],
  postMakeTransaction: [
    { ACCOUNT_ID: 'alice-current' },
    {
      body: {
        from: { account_id: 'alice-current', bank_id: 'SNDBCY2N' },
        to: { account_id: 'bob-current', bank_id: 'SNDBCY2N' },
        value: { currency: 'EUR', amount: '2.25' },
      },
    },
  ],
  postMetadata: [{}, { body: { id: 'languages' } }],
  postProducts: [{}, { body: { id: 'current-plus' } }],
  putCustomerMessage: [
    { CUSTOMER_ID: 'bob' },
    { body: { message: 'Γεια', from_department: 'Cards', from_person: 'Alice' }, caller: 'staff' },
  ],
  putTransactions: [
    { ACCOUNT_ID: 'alice-current', TRANSACTION_ID: 'tx-0001', TYPE: 'comments' },
    { body: { details: { approved_by_ip_address: '192.0.2.1' }, metadata: { comments: 'Σωστό' } } },
  ],
};

const exampleOf = (id: OperationId): Example => withBody[id] ?? [ids];

const operationIds = Object.values(operations).map(({ id }) => id);

describe('every operation', () => {
  const { call } = bankForAll();

  test.each(operationIds)(
    '%s answers 200 with the contract’s shape, and nothing that it does not know',
    async (id) => {
      const answer = await call(id, ...exampleOf(id));
      expect(answer.status, answer.text).toBe(200);
      expect(answer.contentType).toBe('application/json; charset=utf-8');
      if (id === 'postMakeTransaction') {
        expect(answer.json).toEqual({ id: expect.stringMatching(/^tx-\d{4}$/), status: 'COMPLETED' });
      } else {
        expect(recordsIn(id, answer).length).toBeGreaterThan(0);
      }
    },
  );

  test.each(operationIds)('%s needs a subscription key that the bank knows', async (id) => {
    const [path, options] = exampleOf(id);
    for (const key of [null, 'another-key']) {
      const answer = await call(id, path, { ...options, headers: { 'Ocp-Apim-Subscription-Key': key } });
      expect(answer.status).toBe(401);
      expect(answer.json).toEqual({ code: 401, message: expect.stringContaining('subscription key') });
    }
  });

  test.each(operationIds)(
    '%s asks for the auth headers where the table marks it A, and only there',
    async (id) => {
      const answer = await call(id, exampleOf(id)[0], { ...exampleOf(id)[1], caller: null });
      const owned = operations[id].auth !== 'none';
      expect(answer.status, answer.text).toBe(owned ? 403 : 200);
      const stranger = await call(id, exampleOf(id)[0], { ...exampleOf(id)[1], caller: 'mallory' });
      expect(stranger.status).toBe(owned ? 403 : 200);
    },
  );

  test.each(operationIds)(
    '%s asks for a Track-ID that is a UUID where the table marks it T, and only there',
    async (id) => {
      const [path, options] = exampleOf(id);
      for (const trackId of [null, 'not-a-uuid']) {
        const answer = await call(id, path, { ...options, headers: { 'Track-ID': trackId } });
        expect(answer.status).toBe(operations[id].tracked ? 400 : 200);
        if (operations[id].tracked) expect(answer.text).toContain('Track-ID');
      }
    },
  );

  test.each(operationIds.filter((id) => operations[id].path.includes('BANK_ID')))(
    '%s knows one bank',
    async (id) => {
      const [path, options] = exampleOf(id);
      const answer = await call(id, { ...path, BANK_ID: 'OTHERBNK' }, options);
      expect(answer.json).toEqual({ code: 404, message: 'There is no bank OTHERBNK' });
    },
  );

  test.each(operationIds.filter((id) => operations[id].body))(
    '%s takes the contract’s body and no other',
    async (id) => {
      const [path, options] = exampleOf(id);
      for (const body of [
        '',
        '{',
        '[]',
        'null',
        '{"unheard_of":1}',
        '{"amount":"1.00"}',
        new Uint8Array([0x22, 0xff, 0x22]),
      ]) {
        const answer = await call(id, path, { ...options, body });
        expect(answer.json, String(body)).toEqual({ code: 400, message: expect.any(String) });
      }
      const typed = await call(id, path, { ...options, headers: { 'Content-Type': 'text/plain' } });
      expect(typed.json).toEqual({ code: 400, message: expect.stringContaining('Content-Type') });
    },
  );
});

describe('a query', () => {
  const { call, recordsOf } = bankForAll();

  async function found(id: OperationId, body: unknown, ids = {}): Promise<unknown[]> {
    return recordsIn(id, await call(id, ids, { body })).map((record) => record.id);
  }

  test('a branch query takes a branch’s id, or the bank’s for all of them', async () => {
    const all = (await recordsOf('getBranches')).map(({ id }) => id);
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
      (await fresh.recordsOf('postBranches', {}, { body })).map(({ id }) => id);
    await fresh.call('putBranchID', { BRANCH_ID: 'nameless' }, { body: { acceptsDeposits: true } });
    expect(await ids({ id: 'nameless', name: '' })).toEqual([]);
    expect(await ids({ id: 'nameless' })).toEqual(['nameless']);
  });

  test('a product of a list has one bank_id, a single one a list', async () => {
    const [item] = await recordsOf('postProducts', {}, { body: { id: 'current-plus' } });
    const [single] = await recordsOf('getProduct', { PRODUCT_ID: 'current-plus' });
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
    const languages = await recordsOf('postMetadata', {}, { body: { id: 'languages' } });
    expect(languages.map(({ code }) => code)).toEqual(['el', 'bg', 'ja', 'ar', 'en']);
    expect(await found('postMetadata', { id: 'nothing' })).toEqual([]);
  });
});
