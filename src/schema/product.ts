import { z } from 'zod';
import { validateId } from '../bank/ids.ts';
import {
  type Product,
  type ProductQuery,
  postProducts,
  product,
  productQuery,
  putProduct,
} from '../contract/product.ts';
import { badUserInput } from '../errors.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBank } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { connectionTo } from './connection.ts';
import { bankIdOr, type ReadContext } from './context.ts';
import { changesType, inputType, listOf, recordFields, toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import { findListItem, itemId, itemNotFound, type ListPosition, listIndex } from './list-item.ts';
import { defineNodeType, idFromPath, listItemId, type NodeRef, nodeFromIds, recordOf } from './node.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';
import { writeField, writtenNode } from './write-field.ts';

interface ProductIds extends BankIds, ListPosition<ProductQuery> {
  /** Null if the bank gave none: then it is the entry at `index` of the list that `query` returns. */
  readonly productId: string | null;
}

export type ProductNode = NodeRef<ProductIds, Product>;

/** Products by bank and product id. Read through getProduct; one without an id through the query that returned it. */
export const productNode = defineNodeType({
  name: 'Product',
  entityKey: ['bankId', 'productId'],
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

export const ProductObject = productNode.object;

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

/**
 * The version of a product as it was read, from a list or alone. Errors:
 * BANK_BAD_RESPONSE if any part of it is broken.
 */
export const productVersion = (record: Product): string =>
  recordVersion(product.answer, { ...record, bank_id: listOf(record.bank_id) });

ProductObject.implement({
  description: product.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, product),
    id: t.id(productNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    productId: t.id(
      listItemId(
        "The product's id at the bank. REST `id`, which the bank may leave out, or give to several entries; `id` is then positional.",
        () => productNode,
        ({ productId }) => productId,
      ),
    ),
    bank: t.field({
      nullable: false,
      description: 'The bank through which the product is read. Costs no REST call.',
      ...nodeFromIds('Bank', ({ bankId }: BankIds) => ({ bankId })),
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (node) => productVersion(recordOf(node)),
    }),
  }),
});

const PutProductInput = builder.inputType('PutProductInput', {
  description: 'The product to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    product: t.field({
      type: inputType(
        product,
        'A whole product, as putProduct sends it. `bankIds` defaults to the bank in the path; what else is left out is not sent, and lost.',
      ),
      required: true,
      description: 'The request body.',
    }),
  }),
});

const PutProductPayload = builder
  .objectRef<{ product: ProductNode; trackId: string }>('PutProductPayload')
  .implement({
    description: "The bank's answer to putProduct.",
    fields: (t) => ({
      product: t.field({
        type: ProductObject,
        nullable: true,
        description:
          'The product as the bank answered it; read anew where the bank answered without it, and null where it has no id to be read by. REST then: getProduct.',
        ...writtenNode(
          () => productNode,
          ({ product }: { product: ProductNode }) => product,
          ({ productId }) => productId !== null,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putProduct', (t) =>
  t.field({
    type: PutProductPayload,
    nullable: true,
    description:
      'Writes a product. Replaces the whole record: what is left out is lost. To change a part of it use `updateProduct`. REST: putProduct.',
    args: { input: t.arg({ type: PutProductInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putProduct,
      ({ input }: { input: typeof PutProductInput.$inferInput }, defaults) => {
        const bankId = bankIdOr(defaults, input.bankId);
        return { bankId, ids: inBank({ bankId }), body: toBody(product, input.product, { bank_id: bankId }) };
      },
      ({ bankId, body }, record) => ({
        product: {
          bankId,
          productId: itemId(record ?? {}) ?? body.id ?? null,
          index: 0,
          query: null,
          record,
        },
      }),
    ),
  }),
);

/**
 * The one bank id that the PUT accepts, of those that were read; that of the path if there is none.
 * Errors: BAD_USER_INPUT if there are several: all but one would be lost.
 */
function bankOf(record: Product, bankId: string): string {
  const [first = bankId, ...others] = listOf(record.bank_id) ?? [];
  if (others.length === 0) return first;
  throw badUserInput(
    "The product belongs to several banks, and the bank's putProduct takes one: name it in `changes.bankIds`. Nothing was written.",
  );
}

const UpdateProductInput = builder.inputType('UpdateProductInput', {
  description: 'The product to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    productId: t.id({ required: true, description: 'The product.' }),
    changes: t.field({
      type: changesType(
        product,
        'Changes of a product: what is left out keeps its value, null clears it. Lists are replaced whole.',
      ),
      required: true,
      description: updateDescriptions.changes,
    }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

const UpdateProductPayload = updatePayload('UpdateProductPayload', {
  field: 'product',
  nodeType: () => productNode,
  type: ProductObject,
});

builder.mutationField('updateProduct', (t) =>
  t.field({
    type: UpdateProductPayload,
    nullable: true,
    description: 'Changes a product and keeps what is not named. REST: getProduct, then putProduct.',
    args: {
      input: t.arg({ type: UpdateProductInput, required: true, description: 'What to change, and how.' }),
    },
    ...updateField(
      {
        operation: putProduct,
        payload: 'UpdateProductPayload',
        nodeType: () => productNode,
        versionOf: productVersion,
      },
      ({ input }: { input: typeof UpdateProductInput.$inferInput }, defaults) => {
        const bankId = bankIdOr(defaults, input.bankId);
        const productId = restId('productId', input.productId);
        const changes = toChanges(product, input.changes);
        return {
          node: { bankId, productId, index: 0, query: null },
          ids: inBank({ bankId }),
          record: [bankId, productId],
          ifVersion: input.ifVersion,
          changes: (record) => ({
            ...changes,
            // The path names only the bank: the body has to identify the product.
            id: record.id ? undefined : productId,
            bank_id: changes.bank_id === undefined ? bankOf(record, bankId) : changes.bank_id,
          }),
        };
      },
    ),
  }),
);
