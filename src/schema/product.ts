import { unwrap } from '../bank/response.ts';
import { type Product, type ProductBody, product as productShape, putProduct } from '../contract/product.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inBank } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { omitNullish } from './common-types.ts';
import { bankIdOr } from './context.ts';
import { idUnderEitherName, onlyBankId, renamedTo, underEitherName } from './input-names.ts';
import { itemId } from './list-item.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { type ProductNode, ProductObject, productNode } from './node-lookups/product.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { writeField, writtenNode } from './write-field.ts';

/** REST `bank_id` as a list, from either of its two forms. Errors: BANK_BAD_RESPONSE if it is broken. */
export function bankIdsOf(record: Product): readonly string[] | null | undefined {
  const bankId = unwrap(record.bank_id);
  return typeof bankId === 'string' ? [bankId] : bankId;
}

/**
 * The version of a product as it was read, from a list or alone. Errors:
 * BANK_BAD_RESPONSE if any part of it is broken.
 */
export const productVersion = (record: Product): string =>
  recordVersion(productShape, { ...record, bank_id: bankIdsOf(record) });

ProductObject.implement({
  description: 'A product of a bank. REST: getProduct, or postProducts.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(productNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    productId: t.id({
      nullable: true,
      description:
        "The product's id at the bank. REST `id`, which the bank may leave out; `id` is then positional.",
      extensions: answeredByIds,
      // If the bank sent something other than text, the record holds an error here.
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
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (product) => productVersion(recordOf(product)),
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description:
        'The banks that offer the product. REST `bank_id`, a string in lists and an array in single answers.',
      resolve: (product) => bankIdsOf(recordOf(product)),
    }),
    name: t.string({
      nullable: true,
      description: "The product's name. REST `name`.",
      resolve: (product) => recordOf(product).name,
    }),
    category: t.string({
      nullable: true,
      description:
        'What it is. The specification lists no values; the sandbox has `current`, `savings`, `mortgage`, `loan`, `card`, `finance` and `trust`. REST `category`.',
      resolve: (product) => recordOf(product).category,
    }),
    family: t.string({
      nullable: true,
      description:
        'The family of products. The specification lists no values; the sandbox has `accounts`, `deposits`, `loans` and `cards`. REST `family`.',
      resolve: (product) => recordOf(product).family,
    }),
    superFamily: t.string({
      nullable: true,
      description:
        'Whom it is for, or a wider family. The specification lists no values; the sandbox has `retail`, `business` and `private`. REST `super_family`.',
      resolve: (product) => recordOf(product).super_family,
    }),
    moreInfoUrl: t.string({
      nullable: true,
      description: 'The address of a page about it. REST `more_info_url`.',
      resolve: (product) => recordOf(product).more_info_url,
    }),
    meta: t.stringList({
      nullable: { list: true, items: true },
      description: 'What there is to say about it, such as `no fee`. REST `meta`.',
      resolve: (product) => recordOf(product).meta,
    }),
  }),
});

const ProductInput = builder.inputType('ProductInput', {
  description:
    'A whole product, as putProduct sends it. `bankIds` defaults to the bank in the path; what else is left out is not sent, and lost.',
  fields: (t) => ({
    bankIds: t.stringList({
      description:
        "The banks that offer the product. REST `bank_id`: one entry; the path's bank where left out.",
    }),
    bankId: t.string({
      description: "The banks that offer the product. REST `bank_id`; the path's bank where left out.",
      deprecationReason: renamedTo('bankIds'),
    }),
    category: t.string({
      description:
        'What it is. The specification lists no values; the sandbox has `current`, `savings`, `mortgage`, `loan`, `card`, `finance` and `trust`. REST `category`.',
    }),
    family: t.string({
      description:
        'The family of products. The specification lists no values; the sandbox has `accounts`, `deposits`, `loans` and `cards`. REST `family`.',
    }),
    productId: t.id({ description: "The product's id at the bank. REST `id`." }),
    id: t.id({
      description: "The product's id at the bank. REST `id`.",
      deprecationReason: renamedTo('productId'),
    }),
    meta: t.stringList({ description: 'What there is to say about it, such as `no fee`. REST `meta`.' }),
    moreInfoUrl: t.string({ description: 'The address of a page about it. REST `more_info_url`.' }),
    name: t.string({ description: "The product's name. REST `name`." }),
    superFamily: t.string({
      description:
        'Whom it is for, or a wider family. The specification lists no values; the sandbox has `retail`, `business` and `private`. REST `super_family`.',
    }),
  }),
});

const productBody = (input: typeof ProductInput.$inferInput, bankId: string): ProductBody =>
  omitNullish({
    bank_id: underEitherName(['bankIds', onlyBankId(input.bankIds)], ['bankId', input.bankId]) ?? bankId,
    category: input.category,
    family: input.family,
    id: idUnderEitherName('productId', input.productId, 'id', input.id),
    meta: input.meta,
    more_info_url: input.moreInfoUrl,
    name: input.name,
    super_family: input.superFamily,
  });

const PutProductInput = builder.inputType('PutProductInput', {
  description: 'The product to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
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
    description:
      'Writes a product. Replaces the whole record: what is left out is lost. To change a part of it use `updateProduct`. REST: putProduct.',
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
