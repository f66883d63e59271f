import { z } from 'zod';
import { id, text, textOrArray, textsOrText } from './common-schemas.ts';
import { get, operation, put, query } from './operation.ts';
import { bodyOf, record } from './record.ts';

/** A product in the answers of putProduct and getProduct (model ProductDef), where `bank_id` is a list. */
export const product = record('Product', 'A product of a bank.', {
  bank_id: textsOrText.nullish().meta({
    name: 'bankIds',
    description: 'The banks that offer the product.',
    isOnlyEntry: true,
    holdsIds: true,
    notes: {
      answer: ', a text or a list',
      input: ": one entry, by default the mutation's bank",
      changes: ': one entry, needed if it has several',
    },
  }),
  category: text.nullish().describe('The category, such as `loan`.'),
  family: text.nullish().describe('The family of products, such as `deposits`.'),
  id: id.nullish().meta({ name: 'productId', description: "The product's id at the bank." }),
  meta: textsOrText.nullish().describe('Details of the product, such as `no fee`.'),
  more_info_url: text.nullish().describe('The URL of a page about the product.'),
  name: text.nullish().describe("The product's name."),
  super_family: text.nullish().describe('A wider family, such as `retail`.'),
});

/** An entry of the list that postProducts answers, where `bank_id` is one string. */
const productItem = product.extend({ bank_id: textOrArray.nullish() });

/** A product as either of the two shapes. */
export type Product = z.infer<typeof product> | z.infer<typeof productItem>;
/** The body of putProduct. `bank_id` is one string, and required. An input that leaves it out gets the bank in the path. */
const productBody = bodyOf(product).extend({ bank_id: z.string() });
export type ProductBody = z.infer<typeof productBody>;

/** The query body of postProducts. */
const productQuery = z.strictObject({ id: z.string(), name: z.string().optional() });
export type ProductQuery = z.infer<typeof productQuery>;

const products = { audience: 'public', resource: 'product' } as const;

export const getProduct = operation({
  id: 'getProduct',
  ...get,
  ...products,
  path: '/v1/api/banks/{BANK_ID}/products/{PRODUCT_ID}',
  auth: 'none',
  envelope: null,
  answer: product,
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
  body: productBody,
  envelope: null,
  answer: product,
});
