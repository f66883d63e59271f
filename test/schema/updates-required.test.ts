import { describe, expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord, branchRecord, productRecord } from '../support/full-records.ts';
import {
  account,
  branch,
  product,
  products,
  serve,
  transaction,
  transactionPath,
  type UpdateCase,
  update,
} from '../support/update-cases.ts';

describe('what a bank requires', () => {
  const refusals: readonly (readonly [string, UpdateCase, object, string, RegExp])[] = [
    [
      'a branch that accepts deposits or not',
      branch,
      branchRecord,
      'acceptsDeposits: null',
      /acceptsDeposits/,
    ],
    ['an address with a city', branch, branchRecord, 'address: { city: null }', /address\.city/],
    [
      'a new address with one',
      branch,
      { acceptsDeposits: true, id: 'branch-id' },
      'address: { line1: "l" }',
      /address\.city/,
    ],
    ['an account with a balance', account, accountRecord, 'balance: null', /balance/],
    ['the amount of it', account, accountRecord, 'balance: { amount: null }', /balance\.amount/],
    [
      'an account that a view hides nothing of',
      account,
      { id: 'ACC', balance: { currency: 'EUR' } },
      'label: "l"',
      /viewId/,
    ],
    ['a product with a bank', products, product, 'bankIds: null', /bank_id/],
    ['a product with one bank', products, productRecord, 'name: "n"', /several banks/],
    ['one at a time', products, product, 'bankIds: ["A", "B"]', /one bank/],
    [
      'who approved a transaction',
      transaction,
      { id: 'TX', details: {} },
      'tags: "t"',
      /approved_by_ip_address/,
    ],
  ];

  test.each(refusals)('%s is not taken away: nothing is written', async (_, it, record, changes, said) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it).record = record;
    const result = await fixture.ask(`mutation { ${update(it, changes)} }`);
    expect(failuresOf(result)).toEqual([`${it.field} BAD_USER_INPUT`]);
    expect(result.errors?.[0]?.message).toMatch(said);
    expect(fixture.bank.lines().filter((line) => line.startsWith('PUT'))).toEqual([]);
  });

  test.each([
    [account, accountRecord, 'label: "l", balance: null', 'balance'],
    [account, accountRecord, 'balance: { amount: null }', 'balance.amount'],
    [branch, branchRecord, 'address: { city: null }', 'address.city'],
    [products, product, 'bankIds: null', 'bankIds'],
  ] as const)('what changes clear is named as their argument: %#', async (it, record, changes, argument) => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, it).record = record;
    const { errors } = await fixture.ask(`mutation { ${update(it, changes)} }`);
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringContaining(`\`changes.${argument}\` cannot be null: `),
        extensions: expect.objectContaining({ argument: ['changes', ...argument.split('.')] }),
      }),
    ]);
  });

  test('of what is not there, changes that only keep and clear make nothing', async () => {
    await using fixture = await startBankqlFixture();
    serve(fixture.bank, branch).record = { acceptsDeposits: false, id: 'branch-id' };
    await fixture.ask(`mutation { ${update(branch, 'address: { line1: null }, location: {}')} }`);
    expect(JSON.parse(fixture.bank.calls[1]?.body ?? '')).toEqual({
      acceptsDeposits: false,
      id: 'branch-id',
    });
  });

  test('a product of no bank gets that of the path, and one of several the one that is named', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, products);
    state.record = { name: 'n' };
    await fixture.ask(`mutation { ${update(products, 'name: "n"')} }`);
    state.record = productRecord;
    await fixture.ask(`mutation { ${update(products, 'bankIds: ["product-bank-id-2"]')} }`);
    const bodies = fixture.bank.calls
      .filter(({ method }) => method === 'PUT')
      .map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([
      { name: 'n', id: 'product-id', bank_id: 'BANK' },
      { ...productRecord, bank_id: 'product-bank-id-2' },
    ]);
  });
});

describe('annotateTransaction', () => {
  const approved = { details: { approved_by_ip_address: 'ip' }, id: 'TX' };
  const annotate = (input: string) =>
    `mutation { annotateTransaction(input: { accountId: "ACC", transactionId: "TX", ${input} }) { trackId } }`;

  test.each([
    ['tags: "t"', { metadata: { comments: '', tags: 't' } }, 'tags'],
    ['comments: "c"', { metadata: { comments: 'c' } }, 'comments'],
    ['where: null', {}, 'where'],
  ])(
    'where there is no metadata, { %s } makes %j, of the type that it names',
    async (changes, made, type) => {
      await using fixture = await startBankqlFixture();
      serve(fixture.bank, transaction).record = approved;
      fixture.bank.otherwise(({ body }) => ({ body }));
      expect((await fixture.ask(annotate(`changes: { ${changes} }`))).errors).toBeUndefined();
      const [, put] = fixture.bank.calls;
      expect(put?.path).toBe(`${transactionPath}/metadata/${type}`);
      expect(JSON.parse(put?.body ?? '')).toEqual({ ...approved, ...made });
    },
  );

  test('needs a type where the changes do not name one member', async () => {
    await using fixture = await startBankqlFixture();
    for (const changes of ['', 'tags: "t", where: "w"'])
      expect(failuresOf(await fixture.ask(annotate(`changes: { ${changes} }`)))).toEqual([
        'annotateTransaction BAD_USER_INPUT',
      ]);
    expect(fixture.bank.lines()).toEqual([]);
  });

  test('takes who approved it only where the bank does not say', async () => {
    await using fixture = await startBankqlFixture();
    const state = serve(fixture.bank, transaction);
    state.record = { id: 'TX', details: { status: 's' } };
    const asked = annotate('metadataType: "M", approvedByIpAddress: "given", changes: { tags: null }');
    await fixture.ask(asked);
    state.record = approved;
    await fixture.ask(asked);
    const bodies = fixture.bank.calls
      .filter(({ method }) => method === 'PUT')
      .map(({ body }) => JSON.parse(body));
    expect(bodies).toEqual([
      { id: 'TX', details: { status: 's', approved_by_ip_address: 'given' } },
      approved,
    ]);
  });
});
