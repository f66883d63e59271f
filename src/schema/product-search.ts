import type { InputShapeFromFields } from '@pothos/core';
import { type Product, type ProductQuery, postProducts } from '../contract/product.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { omitNullish } from './request-body.ts';

/** Searches of products. The bank lists all products under a special id. */

/** All products of a bank. Errors: NOT_FOUND if no id is configured under which the bank lists them. */
export async function loadAll(
  { bankId }: BankIds,
  { session, defaults }: ReadContext,
): Promise<readonly Product[]> {
  const id = defaults.allProductsId;
  if (id != null) return session.loaders.postProducts.load({ bankId, query: { id } });
  throw new BankqlError(
    'NOT_FOUND',
    'The bank gave this product no id of its own, and no id is configured under which it lists all of its products (BANK_ALL_PRODUCTS_ID): read the list again.',
    { operation: postProducts.id },
  );
}

const ProductFilter = builder.inputType('ProductFilter', {
  description: 'A filter on products: which of them an id finds depends on the bank.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id to look for.' }),
    name: t.string({ description: 'The name to look for.' }),
  }),
});

export const productSearch = builder.args((t) => ({
  filter: t.field({
    type: ProductFilter,
    description: 'Only products with this id, or with this id and this name; by default all.',
  }),
}));

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

/** The products that match a search. Errors: BAD_USER_INPUT. */
export const findProducts = (
  { bankId }: BankIds,
  { filter }: InputShapeFromFields<typeof productSearch>,
  context: ReadContext,
): Promise<readonly Product[]> =>
  context.session.loaders.postProducts.load({ bankId, query: queryOf(filter, context) });
