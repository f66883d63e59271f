import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { productRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeProduct on Product {
    bankId
    productId
    bank { bankId }
    bankIds
    name
    category
    family
    superFamily
    moreInfoUrl
    meta
  }
`);

const WholeProductQuery = graphql(`
  query WholeProductQuery($productId: ID!) { bank { product(productId: $productId) { ...WholeProduct } } }
`);

const WholeProducts = graphql(`
  query WholeProducts($filter: ProductFilter!) {
    bank { products(filter: $filter) { totalCount nodes { ...WholeProduct } } }
  }
`);

const PutWholeProduct = graphql(`
  mutation PutWholeProduct($input: PutProductInput!) {
    putProduct(input: $input) { trackId product { ...WholeProduct } }
  }
`);

const wholeProduct = {
  bankId: 'BANK',
  productId: 'product-id',
  bank: { bankId: 'BANK' },
  bankIds: ['product-bank-id-1', 'product-bank-id-2'],
  name: 'product-name',
  category: 'category',
  family: 'family',
  superFamily: 'super-family',
  moreInfoUrl: 'more-info-url',
  meta: ['product-meta-1', 'product-meta-2'],
};

const emptyProduct = {
  bankId: 'BANK',
  productId: null,
  bank: { bankId: 'BANK' },
  bankIds: null,
  name: null,
  category: null,
  family: null,
  superFamily: null,
  moreInfoUrl: null,
  meta: null,
};

describe('getProduct', () => {
  const line = 'GET /v1/api/banks/BANK/products/product-id';

  test('answers every field from its own place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: productRecord });
    const result = await fixture.ask(WholeProductQuery, { productId: 'product-id' });
    expect(result).toEqual({ data: { bank: { product: wholeProduct } } });
    expect(fixture.bank.lines()).toEqual([line]);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test('answers null for what is left out; the id is the one that was asked for', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(WholeProductQuery, { productId: 'product-id' });
    expect(result).toEqual({ data: { bank: { product: { ...emptyProduct, productId: 'product-id' } } } });
  });
});

describe('postProducts', () => {
  const line = 'POST /v1/api/banks/BANK/products';

  test.each([
    ['with a name', { id: 'Q', name: 'N' }, '{"id":"Q","name":"N"}'],
    ['without a name', { id: 'Q' }, '{"id":"Q"}'],
    ['with a name that is null', { id: 'Q', name: null }, '{"id":"Q"}'],
  ])('answers the list with its single bank ids as lists, %s', async (_, filter, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { product: [{ ...productRecord, bank_id: 'one-bank' }, {}] } });
    const result = await fixture.ask(WholeProducts, { filter });
    const nodes = [{ ...wholeProduct, bankIds: ['one-bank'] }, emptyProduct];
    expect(result).toEqual({ data: { bank: { products: { totalCount: 2, nodes } } } });
    expect(fixture.bank.lines()).toEqual([line]);
    expect(onlyCall(fixture.bank).body).toBe(body);
  });
});

describe('putProduct', () => {
  const line = 'PUT /v1/api/banks/BANK/products';

  test('sends every field in its own place, and answers the product as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: productRecord });
    const result = await fixture.ask(PutWholeProduct, {
      input: {
        product: {
          bankId: 'b',
          category: 'c',
          family: 'f',
          id: 'i',
          meta: ['m1', 'm2'],
          moreInfoUrl: 'u',
          name: 'n',
          superFamily: 's',
        },
      },
    });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual({
      bank_id: 'b',
      category: 'c',
      family: 'f',
      id: 'i',
      meta: ['m1', 'm2'],
      more_info_url: 'u',
      name: 'n',
      super_family: 's',
    });
    expect(result).toEqual({
      data: { putProduct: { trackId: call.headers['track-id'], product: wholeProduct } },
    });
    expect(fixture.bank.lines()).toEqual([line]);
  });

  test.each([
    ['left out', {}],
    [
      'null',
      {
        bankId: null,
        category: null,
        family: null,
        id: null,
        meta: null,
        moreInfoUrl: null,
        name: null,
        superFamily: null,
      },
    ],
  ])('sends the bank of the path, and none of the fields that are %s', async (_, product) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/B2/products', { body: {} });
    const result = await fixture.ask(PutWholeProduct, { input: { bankId: 'B2', product } });
    expect(onlyCall(fixture.bank).body).toBe('{"bank_id":"B2"}');
    expect(result.data?.putProduct?.product).toEqual({
      ...emptyProduct,
      bankId: 'B2',
      bank: { bankId: 'B2' },
    });
  });

  test('answers the id that was put where the bank answers none', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(PutWholeProduct, { input: { product: { id: 'mine' } } });
    expect(result.data?.putProduct?.product?.productId).toBe('mine');
  });
});

describe('products without a filter', () => {
  const all = '{ bank { products { nodes { productId } } } }';

  test('are those under the id that the operator configured', async () => {
    const defaults = { bankId: 'BANK', viewId: 'owner', allProductsId: 'ALL' };
    await using fixture = await startBankqlFixture({ defaults });
    fixture.bank.otherwise({ body: { product: [{ id: 'P', name: 'n' }] } });
    expect(await fixture.ask(all)).toEqual({ data: { bank: { products: { nodes: [{ productId: 'P' }] } } } });
    expect(sentJson(onlyCall(fixture.bank))).toEqual({ id: 'ALL' });
  });

  test('are refused, with the name of the variable, if none is configured', async () => {
    await using fixture = await startBankqlFixture();
    const result = await fixture.ask(all);
    expect(failuresOf(result)).toEqual(['bank.products BAD_USER_INPUT']);
    expect(result.errors?.[0]?.message).toContain('BANK_ALL_PRODUCTS_ID');
    expect(fixture.bank.calls).toEqual([]);
  });
});
