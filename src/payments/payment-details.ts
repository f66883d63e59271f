import { z } from 'zod';
import { text } from '../contract/common-schemas.ts';
import { accountRef, money } from '../contract/shared-parts.ts';
import { badUserInput } from '../errors.ts';
import type { PaymentRecord } from './store.ts';

/** Who pays (the path's account), who is paid, how much, and what for. */
export type PaymentDetails = Pick<
  PaymentRecord,
  'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'
>;

/** The path ids and body members that all payment operations have. */
const paymentInput = z.object({
  ids: z.object({ BANK_ID: z.string(), ACCOUNT_ID: z.string() }),
  body: z.object({ description: text.optional(), to: accountRef.body, value: money.body.optional() }),
});

/** The maximum lengths of the client's texts, in characters: longer ones are not stored, logged or sent. */
const longest = {
  amount: 64,
  currency: 16,
  description: 512,
  'to.bankId': 128,
  'to.accountId': 128,
} as const;

/** The arguments with these texts. */
const paths = {
  amount: 'value.amount',
  currency: 'value.currency',
  description: 'description',
  'to.bankId': 'to.bankId',
  'to.accountId': 'to.accountId',
} as const;

/**
 * The payment's details for its record, read from the request that is sent.
 * Errors: BAD_USER_INPUT, naming the argument, if a text is too long.
 */
export function paymentDetails(input: { readonly ids: unknown; readonly body?: unknown }): PaymentDetails {
  const { ids, body } = paymentInput.parse(input);
  const { description, to, value } = body;
  checkLength('amount', value?.amount);
  checkLength('currency', value?.currency);
  checkLength('description', description);
  checkLength('to.bankId', to.bank_id);
  checkLength('to.accountId', to.account_id);
  return {
    bankId: ids.BANK_ID,
    accountId: ids.ACCOUNT_ID,
    toBankId: to.bank_id ?? null,
    toAccountId: to.account_id ?? null,
    currency: value?.currency ?? null,
    amount: value?.amount ?? null,
    description: description ?? null,
  };
}

function checkLength(name: keyof typeof longest, value: string | undefined): void {
  if (value !== undefined && value.length > longest[name])
    throw badUserInput(`The ${name} of a payment may have ${longest[name]} characters at most.`, paths[name]);
}
