import { unwrap } from '../bank/response.ts';
import { type ProductBody, putProduct } from '../contract/product.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBank } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { omitNullish } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { itemId } from './list-item.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { BankObject, bankNode } from './node-types/bank.ts';
import { type ProductNode, ProductObject, productNode } from './node-types/product.ts';
import { writeField, writtenNode } from './write-field.ts';

ProductObject.implement({
  description: 'A product of a bank. REST: getProduct, or postProducts.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(productNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    productId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: answeredByIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
      resolve: ({ productId, record }) => productId ?? record?.id,
    }),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the product is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `bank_id`, a string in lists and an array in single answers.',
      resolve: (product) => {
        const bankId = unwrap(recordOf(product).bank_id);
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
  omitNullish({
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
    description: 'REST: putProduct.',
    args: { input: t.arg({ type: PutProductInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putProduct,
      ({ input }: { input: typeof PutProductInput.$inferInput }, defaults) => {
        const bankId = bankIdOr(defaults, input.bankId);
        return { bankId, ids: inBank({ bankId }), body: productBody(input.product, bankId) };
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
