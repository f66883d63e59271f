import type { ProductBody } from '../../contract/product.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId } from '../identity.ts';
import { matches } from '../list-query.ts';

/** A single product gives its bank as a list, an entry of a list as one string. */
const single = (product: ProductBody) => ({ ...product, bank_id: [product.bank_id] });

/** Errors: HttpError 404. */
export const getProduct: Handler<'getProduct'> = ({ ids, database }) => {
  const product = database.products.get(ids.PRODUCT_ID);
  if (!product) throw new HttpError(404, `There is no product ${ids.PRODUCT_ID}`);
  return single(product);
};

/** The products that match: see list-query.ts. */
export const postProducts: Handler<'postProducts'> = ({ body, database }) =>
  database.products.all().filter((product) => matches(product, body));

/**
 * Creates or replaces a product, whoever calls; one without an id gets a new one, such as `product-0001`.
 * Errors: HttpError 400 where `bank_id` is another bank's.
 */
export const putProduct: Handler<'putProduct'> = ({ body, database }) => {
  if (body.bank_id !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
  let id = body.id ?? database.nextId('product');
  // A product may already have been put under the next id.
  while (body.id === undefined && database.products.get(id)) id = database.nextId('product');
  const product = { ...body, id };
  database.products.put(id, product);
  return single(product);
};
