import { getProduct, postProducts, product } from '../contract/product.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { findProducts, loadAll, productSearch } from './product-search.ts';

/**
 * Products by bank and product id. A product without an id of its own is looked up in the list of all products.
 * Fields: contract/product.ts.
 */
export const Product = builder.bankRef(product, {
  key: [Bank, 'productId'],
  read: getProduct,
  list: { operation: postProducts, load: loadAll },
});

builder.bankNode(Product);

builder.objectFields(Bank, (t) => ({
  product: t.link(Product, {
    description: 'A product by id.',
    args: { productId: t.arg.id({ required: true, description: "The product's id at the bank." }) },
  }),
  products: t.bankList(Product, {
    description: 'Products of the bank.',
    args: productSearch,
    load: findProducts,
  }),
}));
