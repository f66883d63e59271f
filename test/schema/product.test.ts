import { describe, expect, test } from 'vitest';
import { failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';

const line = 'POST /v1/api/banks/BANK/products';

describe('products', () => {
  test.each([
    ['with a name', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['without a name', { id: 'Q' }, '{"id":"Q"}'],
    ['with a name that is null', { id: 'Q', name: null }, '{"id":"Q"}'],
  ])('are those that a filter asks the bank for, %s', async (_, filter, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { product: [{ id: 'P' }, {}] } });
    const result = await fixture.ask(
      'query ($filter: ProductFilter!) { bank { products(filter: $filter) { totalCount nodes { productId } } } }',
      { filter },
    );
    const nodes = [{ productId: 'P' }, { productId: null }];
    expect(result).toEqual({ data: { bank: { products: { totalCount: 2, nodes } } } });
    expect(fixture.bank.lines()).toEqual([line]);
    expect(onlyCall(fixture.bank).body).toBe(body);
  });

  const all = '{ bank { products { nodes { productId } } } }';

  test('without a filter are those under the id that the operator configured', async () => {
    const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL' };
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise({ body: { product: [{ id: 'P', name: 'n' }] } });
    expect(await fixture.ask(all)).toEqual({ data: { bank: { products: { nodes: [{ productId: 'P' }] } } } });
    expect(sentJson(onlyCall(fixture.bank))).toEqual({ id: 'ALL' });
  });

  test('without a filter are refused, with the name of the variable, if none is configured', async () => {
    await using fixture = await startBankqlFixture();
    const result = await fixture.ask(all);
    expect(failuresOf(result)).toEqual(['bank.products BAD_USER_INPUT']);
    expect(result.errors?.[0]?.message).toContain('BANK_ALL_PRODUCTS_ID');
    expect(fixture.bank.calls).toEqual([]);
  });
});

test('putProduct sends the bank of the path, and answers the id that was put where the bank answers none', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.on('PUT /v1/api/banks/B2/products', { body: {} });
  const result = await fixture.ask(
    'mutation { putProduct(input: { bankId: "B2", product: { productId: "mine" } }) { product { bankId productId } } }',
  );
  expect(onlyCall(fixture.bank).body).toBe('{"bank_id":"B2","id":"mine"}');
  expect(result).toEqual({ data: { putProduct: { product: { bankId: 'B2', productId: 'mine' } } } });
});
