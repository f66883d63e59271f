import { z } from 'zod';
import { validateId } from '../../bank/ids.ts';
import { type Product, type ProductQuery, postProducts, productQuery } from '../../contract/product.ts';
import type { BankIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { connectionTo } from '../connection.ts';
import type { ReadContext } from '../context.ts';
import { findListItem, itemNotFound, type ListPosition, listIndex } from '../list-item.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';

interface ProductIds extends BankIds, ListPosition<ProductQuery> {
  /** Null if the bank gave none: then it is the entry at `index` of the list that `query` returns. */
  readonly productId: string | null;
}

export type ProductNode = NodeRef<ProductIds, Product>;

/** Products by bank and product id. Read through getProduct; one without an id through the query that returned it. */
export const productNode = defineNodeType({
  name: 'Product',
  key: z.union([
    z.tuple([z.string(), z.string()]),
    z.tuple([z.string(), z.null(), listIndex, productQuery.nullable()]),
  ]),
  toKey: ({ bankId, productId, index, query }: ProductNode) =>
    productId === null ? ([bankId, productId, index, query] as const) : ([bankId, productId] as const),
  toIds: ([bankId, productId, index = 0, query = null]): ProductIds => ({
    bankId: validateId('bankId', bankId),
    productId: productId === null ? null : validateId('productId', productId),
    index,
    query,
  }),
  read: readProduct,
});

async function readProduct(ids: ProductIds, { session: { loaders } }: ReadContext): Promise<Product> {
  const { bankId, productId, query } = ids;
  if (productId !== null) return loaders.product.load({ bankId, productId });
  if (query === null) throw itemNotFound(postProducts, ids);
  return findListItem(await loaders.postProducts.load({ bankId, query }), ids, postProducts);
}

export const ProductObject = builder.objectRef<ProductNode>('Product');

export const ProductConnection = connectionTo(ProductObject, {
  list: 'A list of products.',
  entry: 'A product and its place in a list.',
});

export const ProductFilter = builder.inputType('ProductFilter', {
  description: 'The query body of postProducts.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The id to look for. REST `id`.' }),
    name: t.string({ description: 'The name to look for. REST `name`.' }),
  }),
});
