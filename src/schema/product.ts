import {
  getProduct,
  type ProductQuery,
  type Product as ProductRecord,
  postProducts,
  product,
} from '../contract/product.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { omitNullish } from './request-body.ts';

/** Products by bank and product id. One without an id of its own is looked up in the list of all products. */
export const Product = builder.bankRef(product, {
  key: [Bank, 'productId'],
  read: { operation: getProduct, load: (ids, { session }) => session.loaders.product.load(ids) },
  list: { operation: postProducts, load: loadAll },
});

/** All products of a bank. Errors: NOT_FOUND if no id is configured under which the bank lists them. */
async function loadAll(
  { bankId }: BankIds,
  { session, defaults }: ReadContext,
): Promise<readonly ProductRecord[]> {
  const id = defaults.allProductsId;
  if (id != null) return session.loaders.postProducts.load({ bankId, query: { id } });
  throw new BankqlError(
    'NOT_FOUND',
    'The bank gave this product no id of its own, and no id is configured under which it lists all of its products (BANK_ALL_PRODUCTS_ID): read the list again.',
    { operation: postProducts.id },
  );
}

const ProductFilter = builder.inputType('ProductFilter', {
  description: 'Which products: the bank decides which of them an id finds.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id to look for.' }),
    name: t.string({ description: 'The name to look for.' }),
  }),
});

/** The query of postProducts. Errors: BAD_USER_INPUT. */
function queryOf(
  filter: typeof ProductFilter.$inferInput | null | undefined,
  { defaults }: ReadContext,
): ProductQuery {
  const { id = defaults.allProductsId, name } = filter ?? {};
  if (id == null)
    throw badUserInput(
      'Give filter: no id is configured under which this bank lists all of its products (BANK_ALL_PRODUCTS_ID).',
      'filter',
    );
  return omitNullish({ id, name });
}

builder.bankNode(Product);

builder.objectFields(Bank, (t) => ({
  product: t.link(Product, {
    description: 'A product by id.',
    args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
  }),
  products: t.bankList(Product, {
    description: 'Products of the bank.',
    args: {
      filter: t.arg({
        type: ProductFilter,
        description: 'Those with this id, or this id and name; all by default.',
      }),
    },
    load: ({ bankId }, { filter }, context) =>
      context.session.loaders.postProducts.load({ bankId, query: queryOf(filter, context) }),
  }),
}));
