import { z } from 'zod';
import { optional, text, textOrArray, texts, textsOrText } from './common-schemas.ts';
import { operation } from './operation.ts';

/** A product as putProduct and getProduct answer it (model ProductDef): `bank_id` is a list there. */
export const product = z.object({
  bank_id: optional(textsOrText),
  category: optional(text),
  family: optional(text),
  id: optional(text),
  meta: optional(textsOrText),
  more_info_url: optional(text),
  name: optional(text),
  super_family: optional(text),
});

/** An entry of postProducts' list: `bank_id` is one string there. */
export const productItem = product.extend({ bank_id: optional(textOrArray) });

/** A product as either of the two shapes. */
export type Product = z.infer<typeof product> | z.infer<typeof productItem>;

export const productBody = z.strictObject({
  bank_id: text,
  category: text.optional(),
  family: text.optional(),
  id: text.optional(),
  meta: texts.optional(),
  more_info_url: text.optional(),
  name: text.optional(),
  super_family: text.optional(),
});
export type ProductBody = z.infer<typeof productBody>;

/** The query body of postProducts. */
export const productQuery = z.strictObject({ id: text, name: text.optional() });
export type ProductQuery = z.infer<typeof productQuery>;

export const getProduct = operation({
  id: 'getProduct',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/products/{PRODUCT_ID}',
  tracked: false,
  auth: 'none',
  kind: 'read',
  audience: 'public',
  body: null,
  resource: 'product',
  envelope: null,
  answer: product,
});

export const postProducts = operation({
  id: 'postProducts',
  method: 'POST',
  path: '/v1/api/banks/{BANK_ID}/products',
  tracked: true,
  auth: 'none',
  kind: 'read',
  audience: 'public',
  body: productQuery,
  resource: 'product',
  envelope: 'product',
  answer: productItem,
});

export const putProduct = operation({
  id: 'putProduct',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/products',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'public',
  body: productBody,
  resource: 'product',
  envelope: null,
  answer: product,
});
