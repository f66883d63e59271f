import { bankCode, decimal, idText } from '../payments/answer/answer-values.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import type { PaymentPreview } from '../payments/service.ts';
import { escaped, visible } from '../plain-text.ts';

/** Quotation marks and characters that look like them: a reader would think that the quoted text ends there. */
const quotes =
  /["\\\u02BA\u02DD\u02EE\u05F4\u201C-\u201F\u2033\u2036\u275D\u275E\u3003\u301D-\u301F\uFF02]/gu;

/**
 * Misleading characters: combining marks without a letter, or after three others, can cover other text; many blanks break
 * the line.
 */
const misleading = /(?<!\p{L}\p{M}{0,2})\p{M}|(?<= ) /gu;

/** Quotes a text that the model chose. Invisible and misleading characters are escaped. */
const quoted = (text: string): string =>
  `"${visible(text.toWellFormed().replaceAll(quotes, '\\$&')).replaceAll(misleading, escaped)}"`;

/**
 * Quotes an id or a code. Everything except ASCII is escaped, because letters of other alphabets may look like ASCII.
 */
const exactly = (text: string): string =>
  `"${text
    .toWellFormed()
    .replaceAll(/["\\]/g, '\\$&')
    .replaceAll(/[^ -~]|(?<= ) /gu, escaped)}"`;

const accountOf = (accountId: string | null, bankId: string | null): string =>
  `account ${exactly(accountId ?? '')} at ${bankId ? `bank ${exactly(bankId)}` : 'the bank that your bank chooses'}`;

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
      : `${amount} ${/^[A-Z]{3}$/.test(currency ?? '') ? currency : exactly(currency ?? '')}`;
  const lines = [
    requestType === null
      ? `Pay ${sum}?`
      : `Request a payment of ${sum}, of the type ${exactly(requestType)}?`,
    `From: ${accountOf(payment.accountId, payment.bankId)}`,
    `To: ${accountOf(payment.toAccountId, payment.toBankId)}`,
    `Purpose: ${description === null ? 'none' : quoted(description)}`,
    `Confirmation by the bank: ${challengeType === null ? 'as the bank decides' : exactly(challengeType)}`,
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

/** The age up to which a question names an equal payment, in milliseconds. */
const namedMs = 24 * 60 * 60 * 1000;

/**
 * Finds the caller's payments that a person would take for the same one: payer, payee, currency and amount
 * are equal.
 * Shape: `open`: one that may have been made. `made`: those that were made within the last 24 hours.
 */
export function equalPayments(payment: PaymentPreview, records: readonly PaymentRecord[], now: number) {
  const equal = records.filter((record) => isEqual(payment, record));
  return {
    open: equal.find(({ state }) => state === 'PENDING' || state === 'UNKNOWN') ?? null,
    made: equal.filter(({ state, updatedAt }) => state === 'DONE' && now - updatedAt < namedMs),
  };
}

/** Amounts and currencies are compared by their values: 12.5 equals 12.50, and `eur` equals `EUR`. */
const isEqual = (payment: PaymentPreview, record: PaymentRecord): boolean =>
  idText(payment.accountId) === idText(record.accountId) &&
  idText(payment.toAccountId ?? '') === idText(record.toAccountId ?? '') &&
  // A damaged record has no other details.
  (record.damaged === true ||
    (bankCode(payment.bankId) === bankCode(record.bankId) &&
      bankCode(payment.toBankId || payment.bankId) === bankCode(record.toBankId || record.bankId) &&
      idText(payment.currency ?? '') === idText(record.currency ?? '') &&
      decimal(payment.amount ?? '') === decimal(record.amount ?? '')));
