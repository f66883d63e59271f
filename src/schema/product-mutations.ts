import {
  getProduct,
  type ProductBody,
  type Product as ProductRecord,
  product,
  putProduct,
} from '../contract/product.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import { builder } from './builder.ts';
import { bankIdOr } from './context.ts';
import { listOf, toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { itemId } from './plugin/list-item.ts';
import { Product } from './product.ts';
import {
  bankIdInput,
  changesInput,
  putDescription,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const calls = { read: getProduct, write: putProduct };

builder.relayMutationField(
  'putProduct',
  {
    description: 'The product to put, and where.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      product: wholeRecordInput(t, product, putProduct),
    }),
  },
  {
    description: putDescription('a product', 'updateProduct', putProduct),
    resolve: async (_root, { input }, { session, defaults }) => {
      const bankId = bankIdOr(defaults, input.bankId);
      // The contract gives a body one bank (`isOnlyEntry`).
      const body = { bank_id: bankId, ...toBody(product, input.product, 'product.') } as ProductBody;
      const { answer, trackId } = await session.write(putProduct, { bankId }, body);
      // The path names only the bank: the product's id is in the answer or in the body.
      const productId = itemId(answer ?? {}) ?? body.id ?? null;
      const isKnown = answer !== null || productId !== null;
      return { ids: isKnown ? { bankId, productId } : null, record: answer, trackId };
    },
  },
  writtenPayload(Product, calls, 'as the bank answered it, or read again; null if it then has no id.'),
);

builder.relayMutationField(
  'updateProduct',
  {
    description: 'The product to update, and how.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      productId: t.id({ required: true, description: "The product's id at the bank." }),
      ...changesInput(t, product),
    }),
  },
  {
    description: 'Changes a part of a product. REST: getProduct, putProduct.',
    resolve: (_root, { input }, context) => {
      const bankId = bankIdOr(context.defaults, input.bankId);
      const productId = restId('productId', input.productId);
      const ids = { bankId, productId };
      return updateRecord(context, {
        ...calls,
        shape: product,
        ids,
        input,
        load: (fresh) => Product.readForUpdate(ids, fresh),
        versionOf: Product.version,
        changes(read) {
          const changes = toChanges(product, input.changes) as Changes<ProductBody>;
          const { bank_id = bankOf(read, bankId) } = changes;
          // The path names only the bank: the body has to identify the product.
          return { ...changes, bank_id, id: read.id ? undefined : productId };
        },
      });
    },
  },
  writtenPayload(Product, calls),
);

/**
 * The single bank id for the PUT: the one that was read, or the path's if none was read.
 * Errors: BAD_USER_INPUT if there are several: all but one would be lost.
 */
function bankOf(record: ProductRecord, bankId: string): string {
  const [first = bankId, ...others] = listOf(record.bank_id) ?? [];
  if (others.length === 0) return first;
  throw badUserInput(
    "The product belongs to several banks, and the bank's putProduct takes one: name it in `changes.bankIds`. Nothing was written.",
  );
}
