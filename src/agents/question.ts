import type { PaymentRecord } from '../payments/payment-record.ts';
import type { PaymentPreview } from '../payments/service.ts';
import { visible } from '../plain-text.ts';

/** Quotes a text of the model or of a bank. Invisible characters are escaped. */
const quoted = (text: string): string => `"${visible(text.toWellFormed().replaceAll(/["\\]/g, '\\$&'))}"`;

const accountOf = (accountId: string | null, bankId: string | null): string =>
  `account ${quoted(accountId ?? '')} at ${bankId ? `bank ${quoted(bankId)}` : 'the bank that your bank chooses'}`;

/** The number of earlier payments that a question names. */
const maxNamed = 3;

/**
 * Writes the question to the person from the call that would be sent. `made`: equal earlier payments, newest first. The same
 * payment and the same earlier payments result in the same text.
 */
export function questionOf(payment: PaymentPreview, made: readonly PaymentRecord[]): string {
  const { amount, currency, description, challengeType, requestType } = payment;
  const sum =
    amount === null
      ? 'an amount that the bank decides'
      : `${amount} ${/^[A-Z]{3}$/.test(currency ?? '') ? currency : quoted(currency ?? '')}`;
  const lines = [
    requestType === null ? `Pay ${sum}?` : `Request a payment of ${sum}, of the type ${quoted(requestType)}?`,
    `From: ${accountOf(payment.accountId, payment.bankId)}`,
    `To: ${accountOf(payment.toAccountId, payment.toBankId)}`,
    `Purpose: ${description === null ? 'none' : quoted(description)}`,
    `Confirmation by the bank: ${challengeType === null ? 'as the bank decides' : quoted(challengeType)}`,
  ];
  if (made.length > 0)
    lines.push(
      `ATTENTION: an equal payment was made already, ${made.length === 1 ? 'once' : `${made.length} times`}, within the last 24 hours:`,
      ...made
        .slice(0, maxNamed)
        .map(({ updatedAt, trackId }) => `${new Date(updatedAt).toISOString()}, Track-ID ${trackId}`),
      'This would be another payment.',
    );
  return lines.join('\n');
}

/** The time for which an equal payment is named, in milliseconds. */
const namedMs = 24 * 60 * 60 * 1000;

/**
 * Finds the caller's payments that a person would take for the same one: payer, payee, currency and amount are equal. They were
 * made within the last 24 hours, or it is not known whether they were made.
 */
export function equalPayments(payment: PaymentPreview, records: readonly PaymentRecord[], now: number) {
  const equal = records.filter((record) => isEqual(payment, record));
  return {
    open: equal.find(({ state }) => state === 'PENDING' || state === 'UNKNOWN') ?? null,
    made: equal.filter(({ state, updatedAt }) => state === 'DONE' && now - updatedAt < namedMs),
  };
}

type Comparable = Pick<
  PaymentRecord,
  'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency' | 'amount'
>;

const isEqual = (a: Comparable, b: Comparable): boolean =>
  a.bankId === b.bankId &&
  a.accountId === b.accountId &&
  (a.toBankId || a.bankId) === (b.toBankId || b.bankId) &&
  a.toAccountId === b.toAccountId &&
  a.currency === b.currency &&
  // 12.5 and 12.50 are the same amount.
  (a.amount === null ? null : Number(a.amount)) === (b.amount === null ? null : Number(b.amount));
