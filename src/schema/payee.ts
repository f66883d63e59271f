import { type AccountRefBody, accountRef } from '../contract/shared-parts.ts';
import { builder } from './builder.ts';
import { restId } from './plugin/global-id.ts';
import { toBody } from './request-body.ts';

/**
 * The account to pay. An app passes a `Payee` back unchanged as a `PayeeInput`, so that the app chooses
 * nothing: a wrong choice would pay somebody else.
 */

const accountIdDescription = "The account's id at its bank.";

export const Payee = builder
  .objectRef<{ readonly accountId: string; readonly bankId: string }>('Payee')
  .implement({
    description: 'Whom to pay: `to` of a payment takes both fields as they are.',
    fields: (t) => ({
      accountId: t.exposeID('accountId', { nullable: false, description: accountIdDescription }),
      bankId: t.exposeID('bankId', { nullable: false, description: "The bank's code." }),
    }),
  });

export const PayeeInput = builder.inputType('PayeeInput', {
  description: 'Whom to pay: the `payee` of a counterparty, or an account by its ids.',
  fields: (t) => ({
    accountId: t.id({ required: true, description: accountIdDescription }),
    bankId: t.id({ description: "The bank's code; if it is left out, the bank chooses." }),
  }),
});

type Given = typeof PayeeInput.$inferInput;

/** The body of a payee. An empty bank code counts as absent. Errors: BAD_USER_INPUT. */
export const payeeBody = ({ accountId, bankId }: Given): AccountRefBody =>
  toBody(accountRef, { accountId, bankId: bankId || null }, 'to.');

/**
 * The body of a payee whose account can be read afterwards.
 * Errors: BAD_USER_INPUT, which names the invalid id and does not repeat it.
 */
export function readablePayeeBody(to: Given): AccountRefBody {
  if (to.bankId) restId('to.bankId', to.bankId);
  restId('to.accountId', to.accountId);
  return payeeBody(to);
}
