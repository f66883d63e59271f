import type { ProductBody } from '../../contract/product.ts';
import { bankId } from '../identity.ts';

/** One product: its id, name, category, family, super family, and what there is to say about it. */
type Row = readonly [string, string, string, string, string, readonly string[]];

const rows: readonly Row[] = [
  ['current-basic', 'Basic Current Account', 'current', 'accounts', 'retail', ['no fee']],
  ['current-plus', 'Current Account Plus', 'current', 'accounts', 'retail', ['debit card', 'overdraft free']],
  ['current-student', 'Φοιτητικός Λογαριασμός', 'current', 'accounts', 'retail', ['έως 26 ετών']],
  ['savings-flex', 'Flexible Savings', 'savings', 'deposits', 'retail', ['instant access']],
  ['savings-term', 'Προθεσμιακή Κατάθεση', 'savings', 'deposits', 'retail', ['12 μήνες', '24 μήνες']],
  ['mortgage-home', 'Ипотека „Дом“', 'mortgage', 'loans', 'retail', ['до 30 години']],
  ['loan-personal', 'Личен заем', 'loan', 'loans', 'retail', ['фиксирана лихва']],
  ['card-travel', '旅行カード', 'card', 'cards', 'retail', ['海外手数料無料', '保険付き']],
  ['card-business', 'بطاقة الأعمال', 'card', 'cards', 'business', ['حد مرتفع']],
  ['business-current', 'Business Current Account', 'current', 'accounts', 'business', ['API access']],
  ['trade-finance', 'Financement du négoce', 'finance', 'loans', 'business', ['lettres de crédit']],
  ['trust-account', 'Trust Account', 'trust', 'accounts', 'private', []],
];

export const seededProducts = rows.map(([id, name, category, family, super_family, meta]) => {
  const product: ProductBody = {
    id,
    bank_id: bankId,
    name,
    category,
    family,
    super_family,
    more_info_url: `https://bank.example/products/${id}`,
    meta: [...meta],
  };
  return { id, product };
});
