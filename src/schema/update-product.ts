import { type Product, putProduct } from '../contract/product.ts';
import { badUserInput } from '../errors.ts';
import { inBank } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { bankIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { onlyBankId } from './input-names.ts';
import { ProductObject, productNode } from './node-lookups/product.ts';
import { bankIdsOf, productVersion } from './product.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';

const ProductChanges = builder.inputType('ProductChanges', {
  description:
    'Changes of a product: what is left out keeps its value, null clears it. Lists are replaced whole.',
  fields: (t) => ({
    bankIds: t.stringList({
      description:
        'The banks that offer the product. REST `bank_id`: one entry, for the bank takes one; needed where the product has several.',
    }),
    category: t.string({
      description:
        'What it is. The specification lists no values; the sandbox has `current`, `savings`, `mortgage`, `loan`, `card`, `finance` and `trust`. REST `category`.',
    }),
    family: t.string({
      description:
        'The family of products. The specification lists no values; the sandbox has `accounts`, `deposits`, `loans` and `cards`. REST `family`.',
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

const productChanges = (changes: typeof ProductChanges.$inferInput) => ({
  bank_id: onlyBankId(changes.bankIds),
  category: changes.category,
  family: changes.family,
  meta: changes.meta,
  more_info_url: changes.moreInfoUrl,
  name: changes.name,
  super_family: changes.superFamily,
});

/**
 * The one bank id that the PUT accepts, of those that were read; that of the path if there is none.
 * Errors: BAD_USER_INPUT if there are several: all but one would be lost.
 */
function bankOf(product: Product, bankId: string): string {
  const [first = bankId, ...others] = bankIdsOf(product) ?? [];
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
    changes: t.field({ type: ProductChanges, required: true, description: updateDescriptions.changes }),
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
        const changes = productChanges(input.changes);
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
