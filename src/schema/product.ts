import { z } from 'zod';
import { sound } from '../bank/answer.ts';
import { checkId } from '../bank/path.ts';
import {
  type Product,
  type ProductBody,
  type ProductQuery,
  postProducts,
  productQuery,
  putProduct,
} from '../contract/product.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBank } from '../loaders/rest-ids.ts';
import { BankRef, bankLink } from './bank.ts';
import { builder } from './builder.ts';
import { connectionTo } from './connection.ts';
import { type Asking, bankIdOr } from './context.ts';
import { known } from './field-facts.ts';
import { createLink, fromIds, fromPath, type Linked, linkFromIds, recordOf } from './link.ts';
import { entryOf, idOf, notFound, type Place, position } from './list-entry.ts';
import { present } from './values.ts';
import { writing } from './write.ts';

interface ProductIds extends BankIds, Place<ProductQuery> {
  /** Null where the bank gave none: then it is the one at `index` of the list that `query` gives. */
  readonly productId: string | null;
}
export type ProductNode = Linked<ProductIds, Product>;

/** Products by bank and product id. Read through getProduct; one without an id through the query that gave it. */
export const productLink = createLink({
  name: 'Product',
  key: z.union([
    z.tuple([z.string(), z.string()]),
    z.tuple([z.string(), z.null(), position, productQuery.nullable()]),
  ]),
  toKey: ({ bankId, productId, index, query }: ProductNode) =>
    productId === null ? ([bankId, productId, index, query] as const) : ([bankId, productId] as const),
  toIds: ([bankId, productId, index = 0, query = null]): ProductIds => ({
    bankId: checkId('bankId', bankId),
    productId: productId === null ? null : checkId('productId', productId),
    index,
    query,
  }),
  read: readProduct,
});

async function readProduct(ids: ProductIds, { reader: { loaders } }: Asking): Promise<Product> {
  const { bankId, productId, query } = ids;
  if (productId !== null) return loaders.product.load({ bankId, productId });
  if (query === null) throw notFound(postProducts);
  return entryOf(await loaders.postProducts.load({ bankId, query }), ids, postProducts);
}

export const ProductRef = builder.objectRef<ProductNode>('Product');
ProductRef.implement({
  description: 'A product of a bank. REST: getProduct, or postProducts.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(productLink.idField),
    bankId: t.exposeID('bankId', fromPath("The bank's code, from the path.")),
    productId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: fromIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
      resolve: ({ productId, record }) => productId ?? record?.id,
    }),
    bank: t.field({
      type: BankRef,
      nullable: false,
      description: 'The bank through which the product is read. Costs no REST call.',
      ...linkFromIds(
        () => bankLink,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `bank_id`, a string in lists and an array in single answers.',
      resolve: (product) => {
        const bankId = sound(recordOf(product).bank_id);
        return typeof bankId === 'string' ? [bankId] : bankId;
      },
    }),
    name: t.string({
      nullable: true,
      description: 'REST `name`.',
      resolve: (product) => recordOf(product).name,
    }),
    category: t.string({
      nullable: true,
      description: 'REST `category`.',
      resolve: (product) => recordOf(product).category,
    }),
    family: t.string({
      nullable: true,
      description: 'REST `family`.',
      resolve: (product) => recordOf(product).family,
    }),
    superFamily: t.string({
      nullable: true,
      description: 'REST `super_family`.',
      resolve: (product) => recordOf(product).super_family,
    }),
    moreInfoUrl: t.string({
      nullable: true,
      description: 'REST `more_info_url`.',
      resolve: (product) => recordOf(product).more_info_url,
    }),
    meta: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `meta`.',
      resolve: (product) => recordOf(product).meta,
    }),
  }),
});

export const ProductConnection = connectionTo(ProductRef, {
  list: 'A list of products.',
  entry: 'A product and its place in a list.',
});

export const ProductFilter = builder.inputType('ProductFilter', {
  description: 'The query body of postProducts.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'REST `id`.' }),
    name: t.string({ description: 'REST `name`.' }),
  }),
});

const ProductInput = builder.inputType('ProductInput', {
  description:
    'What putProduct sends. `bankId` defaults to the bank in the path; else, what is left out is not sent.',
  fields: (t) => ({
    bankId: t.string({ description: "REST `bank_id`; the path's bank where left out." }),
    category: t.string({ description: 'REST `category`.' }),
    family: t.string({ description: 'REST `family`.' }),
    id: t.id({ description: 'REST `id`.' }),
    meta: t.stringList({ description: 'REST `meta`.' }),
    moreInfoUrl: t.string({ description: 'REST `more_info_url`.' }),
    name: t.string({ description: 'REST `name`.' }),
    superFamily: t.string({ description: 'REST `super_family`.' }),
  }),
});

const productBody = (input: typeof ProductInput.$inferInput, bankId: string): ProductBody =>
  present({
    bank_id: input.bankId ?? bankId,
    category: input.category,
    family: input.family,
    id: input.id,
    meta: input.meta,
    more_info_url: input.moreInfoUrl,
    name: input.name,
    super_family: input.superFamily,
  });

const PutProductInput = builder.inputType('PutProductInput', {
  description: 'The product to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: "The path's bank; the configured one where left out." }),
    product: t.field({ type: ProductInput, required: true, description: 'The request body.' }),
  }),
});

const PutProductPayload = builder
  .objectRef<{ product: ProductNode; trackId: string }>('PutProductPayload')
  .implement({
    description: "The bank's answer to putProduct.",
    fields: (t) => ({
      product: t.expose('product', {
        type: ProductRef,
        nullable: true,
        description: 'The product as the bank answered it.',
        extensions: known(({ product }: { product: ProductNode }) => product),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putProduct', (t) =>
  t.field({
    type: PutProductPayload,
    nullable: true,
    description: 'REST: putProduct.',
    args: { input: t.arg({ type: PutProductInput, required: true, description: 'What to put, and where.' }) },
    ...writing(
      putProduct,
      ({ input }: { input: typeof PutProductInput.$inferInput }, defaults) => {
        const bankId = bankIdOr(defaults, input.bankId);
        return { bankId, ids: inBank({ bankId }), body: productBody(input.product, bankId) };
      },
      ({ bankId, body }, record) => ({
        product: { bankId, productId: idOf(record ?? {}) ?? body.id ?? null, index: 0, query: null, record },
      }),
    ),
  }),
);
