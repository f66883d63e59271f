import { getProduct, type Product, type ProductBody, product, putProduct } from '../contract/product.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import { builder } from './builder.ts';
import { bankIdOr } from './context.ts';
import { listOf, toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import { itemId } from './list-item.ts';
import { productNode, productVersion } from './product.ts';
import {
  bankIdInput,
  changesInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const PutProductInput = builder.inputType('PutProductInput', {
  description: 'The product to put, and where.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    product: wholeRecordInput(t, product, putProduct, '`bankIds` defaults to the bank in the path. '),
  }),
});

const UpdateProductInput = builder.inputType('UpdateProductInput', {
  description: 'The product to update, and how.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    productId: t.id({ required: true, description: "The product's id at the bank." }),
    ...changesInput(t, product),
  }),
});

const calls = { read: getProduct, write: putProduct };

builder.mutationField('putProduct', (t) =>
  t.field({
    type: writtenPayload('PutProductPayload', productNode, {
      ...calls,
      whenNull: 'Null if it then has no id to be read by.',
    }),
    nullable: true,
    description:
      'Writes a product. Replaces the whole record: what is left out is lost. To change a part of it use `updateProduct`. REST: putProduct.',
    args: {
      input: t.arg({
        type: PutProductInput,
        required: true,
        description: 'The product, and where to put it.',
      }),
    },
    resolve: async (_root, { input }, { session, defaults }) => {
      const bankId = bankIdOr(defaults, input.bankId);
      // The contract gives a body one bank (`isOnlyEntry`).
      const body = { bank_id: bankId, ...toBody(product, input.product) } as ProductBody;
      const { answer, trackId } = await session.write(putProduct, { bankId }, body);
      // The path names only the bank: the product's id is in the answer or in the body.
      const productId = itemId(answer ?? {}) ?? body.id ?? null;
      const isKnown = answer !== null || productId !== null;
      return { ids: isKnown ? { bankId, productId } : null, record: answer, trackId };
    },
  }),
);

builder.mutationField('updateProduct', (t) =>
  t.field({
    type: writtenPayload('UpdateProductPayload', productNode, calls),
    nullable: true,
    description: 'Changes a product, and keeps the rest. REST: getProduct, then putProduct.',
    args: {
      input: t.arg({ type: UpdateProductInput, required: true, description: 'What to change, and how.' }),
    },
    resolve: async (_root, { input }, context) => {
      const bankId = bankIdOr(context.defaults, input.bankId);
      const productId = restId('productId', input.productId);
      const ids = { bankId, productId };
      const written = await updateRecord(context, {
        ...calls,
        shape: product,
        ids,
        input,
        load: (fresh) => productNode.read(ids, fresh),
        versionOf: productVersion,
        changes(read) {
          const changes = toChanges(product, input.changes) as Changes<ProductBody>;
          const { bank_id = bankOf(read, bankId) } = changes;
          // The path names only the bank: the body has to identify the product.
          return { ...changes, bank_id, id: read.id ? undefined : productId };
        },
      });
      return { ids, ...written };
    },
  }),
);

/**
 * The single bank id for the PUT: the one that was read, or the path's if none was read.
 * Errors: BAD_USER_INPUT if there are several: all but one would be lost.
 */
function bankOf(record: Product, bankId: string): string {
  const [first = bankId, ...others] = listOf(record.bank_id) ?? [];
  if (others.length === 0) return first;
  throw badUserInput(
    "The product belongs to several banks, and the bank's putProduct takes one: name it in `changes.bankIds`. Nothing was written.",
  );
}
