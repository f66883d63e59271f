import type { ProductBody } from '../../contract/product.ts';
import { rowsOf, table } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { bankId } from '../identity.ts';
import { matches } from '../list-query.ts';
import { found, HttpError, requireStaff } from '../request-checks.ts';

/** The columns: id, name, category, family, super family and details. */
const productTable = `
  current-basic | Basic Current Account | current | accounts | retail | no fee
  current-plus | Current Account Plus | current | accounts | retail | debit card | overdraft free
  current-student | Φοιτητικός Λογαριασμός | current | accounts | retail | έως 26 ετών
  savings-flex | Flexible Savings | savings | deposits | retail | instant access
  savings-term | Προθεσμιακή Κατάθεση | savings | deposits | retail | 12 μήνες | 24 μήνες
  mortgage-home | Ипотека „Дом“ | mortgage | loans | retail | до 30 години
  loan-personal | Личен заем | loan | loans | retail | фиксирана лихва
  card-travel | 旅行カード | card | cards | retail | 海外手数料無料 | 保険付き
  card-business | بطاقة الأعمال | card | cards | business | حد مرتفع
  business-current | Business Current Account | current | accounts | business | API access
  trade-finance | Financement du négoce | finance | loans | business | lettres de crédit
  trust-account | Trust Account | trust | accounts | private`;

/** The products as they were put: `bank_id` is one string. Each answer converts it to its own form. */
export const products = table<ProductBody>(
  rowsOf(productTable).map(([id = '', name, category, family, super_family, ...meta]) => {
    const more_info_url = `https://bank.example/products/${id}`;
    return [id, { id, bank_id: bankId, name, category, family, super_family, more_info_url, meta }];
  }),
);

/** A single product gives its bank as a list, an entry of a list as one string. */
const single = (product: ProductBody) => ({ ...product, bank_id: [product.bank_id] });

export const productHandlers: Handlers<'getProduct' | 'postProducts' | 'putProduct'> = {
  /** Errors: HttpError 404. */
  getProduct: ({ ids: { PRODUCT_ID: id }, database }) =>
    single(found(products(database).get(id), `There is no product ${id}`)),

  postProducts: ({ body, database }) => products(database).all.filter((product) => matches(product, body)),

  /**
   * Creates or replaces a product; one without an id gets a new one, such as `product-0001`.
   * Errors: HttpError 403 for customers, 400 if `bank_id` is another bank's.
   */
  putProduct: ({ body, caller, database }) => {
    requireStaff(caller, 'put products');
    if (body.bank_id !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
    let id = body.id ?? database.nextId('product');
    // An id is skipped if a product has already been put under it.
    while (body.id === undefined && products(database).get(id)) id = database.nextId('product');
    return single(products(database).put(id, { ...body, id }));
  },
};
