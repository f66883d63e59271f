import { z } from 'zod';
import { textOrArray, textsOrText } from './common-schemas.ts';
import { get, operation, put, query } from './operation.ts';
import { type Answer, type Body, id, onlyText, resource, text, texts } from './resource.ts';

/** A product as putProduct and getProduct answer it (model ProductDef): `bank_id` is a list there. */
export const product = resource('Product', 'A product of a bank. REST: getProduct, or postProducts.', {
  bankIds: onlyText('bank_id', 'The banks that offer the product.', textsOrText, {
    required: 'default',
    notes: {
      answer: ', a string in lists and an array in single answers',
      input: ': one entry; the bank of the mutation if it is left out',
      changes: ': one entry, for the bank takes one; needed where the product has several',
    },
    formerly: { name: 'bankId', note: '; the bank of the mutation if it is left out' },
  }),
  category: text(
    'category',
    'What it is. The specification lists no values; the sandbox has `current`, `savings`, `mortgage`, `loan`, `card`, `finance` and `trust`.',
    {
      also: {
        name: 'categoryCode',
        enum: 'ProductCategory',
        values: ['current', 'savings', 'mortgage', 'loan', 'card', 'finance', 'trust'],
      },
    },
  ),
  family: text(
    'family',
    'The family of products. The specification lists no values; the sandbox has `accounts`, `deposits`, `loans` and `cards`.',
    {
      also: { name: 'familyCode', enum: 'ProductFamily', values: ['accounts', 'deposits', 'loans', 'cards'] },
    },
  ),
  productId: id('id', "The product's id at the bank.", { isOwnId: true, formerly: { name: 'id' } }),
  meta: texts('meta', 'What there is to say about it, such as `no fee`.', { answer: textsOrText }),
  moreInfoUrl: text('more_info_url', 'The address of a page about it.'),
  name: text('name', "The product's name."),
  superFamily: text(
    'super_family',
    'Whom it is for, or a wider family. The specification lists no values; the sandbox has `retail`, `business` and `private`.',
    {
      also: {
        name: 'superFamilyCode',
        enum: 'ProductSuperFamily',
        values: ['retail', 'business', 'private'],
      },
    },
  ),
});

/** An entry of postProducts' list: `bank_id` is one string there. */
const productItem = product.answer.extend({ bank_id: textOrArray.nullish() });

/** A product as either of the two shapes. */
export type Product = Answer<typeof product> | z.infer<typeof productItem>;
export type ProductBody = Body<typeof product>;

/** The query body of postProducts. */
export const productQuery = z.strictObject({ id: z.string(), name: z.string().optional() });
export type ProductQuery = z.infer<typeof productQuery>;

const products = { audience: 'public', resource: 'product' } as const;

export const getProduct = operation({
  id: 'getProduct',
  ...get,
  ...products,
  path: '/v1/api/banks/{BANK_ID}/products/{PRODUCT_ID}',
  auth: 'none',
  envelope: null,
  answer: product.answer,
});

export const postProducts = operation({
  id: 'postProducts',
  ...query,
  ...products,
  path: '/v1/api/banks/{BANK_ID}/products',
  auth: 'none',
  body: productQuery,
  envelope: 'product',
  answer: productItem,
});

export const putProduct = operation({
  id: 'putProduct',
  ...put,
  ...products,
  path: '/v1/api/banks/{BANK_ID}/products',
  body: product.body,
  envelope: null,
  answer: product.answer,
});
