import { type Payment, type PayOptions, transfer } from '../../../support/payment-client.ts';

interface KeptPayment extends Pick<PayOptions, 'mutation'> {
  /** The key, which is also the account that pays. The bank chooses its answer by this account. */
  readonly name: string;
  readonly input: Payment;
  /** The code of the answer when a later version gets the same payment. */
  readonly code: string;
}

const payment = (name: string, code: string): KeptPayment => ({ name, code, input: transfer(name) });

/** The payments in the stores of each format. Never change one, because a key is recognised only if its payment is the same. */
export const payments: readonly KeptPayment[] = [
  payment('done', 'DONE'),
  {
    ...payment('requested', 'DONE'),
    input: transfer('requested', { transactionRequestType: 'SEPA' }),
    mutation: 'putTransactionRequest',
  },
  payment('rejected', 'BANK_REJECTED'),
  payment('unknown', 'OUTCOME_UNKNOWN'),
  // The lease of this payment has ended since.
  payment('pending', 'OUTCOME_UNKNOWN'),
];
