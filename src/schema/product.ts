import { validateId } from '../bank/ids.ts';
import { getProduct, type Product, type ProductQuery, postProducts, product } from '../contract/product.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { BankObject, bankFields } from './bank.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode, listOf, omitNullish } from './plugin/fields.ts';
import { notGlobalId, restId } from './plugin/global-id.ts';
import { link } from './plugin/link.ts';
import { itemId, type ListedIds, listedBy } from './plugin/list-item.ts';
import { defineNodeType, identifiedBy, noteOtherId } from './plugin/node.ts';
import { connectionTo, listField } from './plugin/relay-connection.ts';
import { versionField, versionOf } from './record-version.ts';

type ProductIds = ListedIds<BankIds, 'productId', Product>;

/** Products by bank and product id. Read through getProduct; one without an id of its own is looked up in the list of all products. */
export const productNode = defineNodeType({
  name: 'Product',
  ...listedBy(identifiedBy('bankId'), 'productId', {
    shape: product,
    operation: postProducts,
    load: loadAll,
    nameOf: itemId,
    checkOwn: (id) => validateId('productId', id),
  }),
  read: ({ bankId, productId }: ProductIds, { session }): Promise<Product> =>
    session.loaders.product.load({ bankId, productId: String(productId) }),
  onRead({ productId }, record, { session }) {
    if (productId !== null) noteOtherId(session, getProduct, productId, record.id, record);
  },
});

/** All products of a bank. Errors: NOT_FOUND if no id is configured under which the bank lists them. */
async function loadAll({ bankId }: BankIds, { session, defaults }: ReadContext): Promise<readonly Product[]> {
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
    id: t.id({ required: true, description: 'The id to look for. REST `id`.' }),
    name: t.string({ description: 'The name to look for. REST `name`.' }),
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
  return omitNullish({ id: notGlobalId('filter.id', id), name });
}

/** The version of a product as it was read, from a list or by its id. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const productVersion = (record: Product): string =>
  versionOf(product, { ...record, bank_id: listOf(record.bank_id) });

implementNode(productNode, product, (t) => ({
  ...bankFields(t, 'product'),
  version: t.string(versionField(product, productVersion)),
}));

const ProductConnection = connectionTo(productNode.object, 'products');

builder.objectFields(BankObject, (t) => ({
  product: link(t, productNode, {
    description: 'A product by id. REST: getProduct.',
    args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
    ids: ({ bankId }, { productId }) => ({ bankId, productId: restId('productId', productId) }),
  }),
  products: listField(t, ProductConnection, {
    description: 'Products of the bank. REST: postProducts.',
    args: {
      filter: t.arg({
        type: ProductFilter,
        description: 'Those with this id, or this id and name; all by default.',
      }),
    },
    load: ({ bankId }, { filter }, context) =>
      context.session.loaders.postProducts.load({ bankId, query: queryOf(filter, context) }),
    nodesIn:
      (list, { bankId }) =>
      (record) => ({ bankId, productId: itemId(record), list, record }),
  }),
}));
