import { randomUUID } from 'node:crypto';
import { BankqlError } from '../errors.ts';
import { RequestError } from '../graphql/errors.ts';
import { sha256 } from '../payments/caller.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import type { PaymentIntent, PaymentOperation, PaymentService } from '../payments/service.ts';
import { equalPayments, questionOf } from './payment-question.ts';
import { type AskedState, signState } from './signed-state.ts';
import type { Tool } from './tools.ts';

/** The time in which a person has to agree, in milliseconds. */
const answerMs = 600_000;

/** The number of the caller's newest payments that are compared with a new one. */
const maxCompared = 100;

interface ConfirmationOptions {
  readonly payments: PaymentService;
  /** The payment store's secret. */
  readonly secret: string;
  readonly tool: Pick<Tool, 'name' | 'documentHash'>;
  /** The state of the question to which the person agreed; null until a person has agreed. */
  readonly agreed: AskedState | null;
  readonly now: () => number;
}

/**
 * Replaces the payment service for one call of a tool. If a person has agreed to the payment, it passes the payment on, with
 * the key of the question. Otherwise it makes a question, and sends nothing.
 */
export class Confirmation {
  /** The question to ask; null if nothing has to be asked. */
  question: { readonly text: string; readonly state: string } | null = null;
  /** The key with which a payment was passed on; null if no payment was passed on. */
  key: string | null = null;
  readonly payments: PaymentService;
  readonly #options: ConfirmationOptions;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
    this.payments = { ...options.payments, pay: (operation, intent) => this.#pay(operation, intent) };
  }

  /** Errors: those of `preview` and `pay`; OUTCOME_UNKNOWN and IDEMPOTENCY_IN_PROGRESS if an equal payment is open; notAgreed. */
  async #pay<T extends PaymentOperation>(
    operation: T,
    { input }: PaymentIntent<T>,
  ): ReturnType<typeof this.payments.pay<T>> {
    const { payments, secret, tool, now } = this.#options;
    const { credentials } = input;
    const preview = payments.preview(operation, input);
    const payment = sha256([tool.name, tool.documentHash, preview.payer, preview.request]);
    const agreed = this.#options.agreed?.payment === payment ? this.#options.agreed : null;
    const pay = (idempotencyKey: string) => {
      this.key = idempotencyKey;
      return payments.pay(operation, { input, idempotencyKey });
    };
    // A repeated call is answered from its record, whatever was paid since.
    if (agreed !== null && (await payments.find(credentials, agreed.key)) !== null) return pay(agreed.key);
    const newest = await payments.search(credentials, { newestFirst: true, limit: maxCompared });
    const others = newest.filter(({ idempotencyKey }) => idempotencyKey !== agreed?.key);
    const { open, made } = equalPayments(preview, others, now());
    if (open !== null) throw stillOpen(open);
    const text = questionOf(preview, made);
    const question = sha256([text]);
    // The question is compared because an equal payment may have been made in the meantime, which the person has not seen.
    if (agreed?.question === question) return pay(agreed.key);
    const state = { key: randomUUID(), payment, question, until: now() + answerMs };
    this.question = { text, state: signState(secret, state) };
    throw notAgreed();
  }
}

/** This error is about the request and not about the payment, so it is not an outcome. */
const notAgreed = () =>
  new RequestError('BAD_USER_INPUT', 'Nobody has agreed to this payment yet. Nothing was sent.');

/** The refusal of a payment while it is unknown whether an equal one was executed. */
function stillOpen({ state, trackId, idempotencyKey, createdAt }: PaymentRecord): BankqlError {
  // The key is left out for a damaged record, which has none.
  const key = idempotencyKey && `idempotencyKey ${idempotencyKey}, `;
  const which = `An equal payment, begun at ${new Date(createdAt).toISOString()} (${key}Track-ID ${trackId}),`;
  const details = { trackId, ...(idempotencyKey && { idempotencyKey }) };
  return state === 'PENDING'
    ? new BankqlError(
        'IDEMPOTENCY_IN_PROGRESS',
        `${which} is in progress. Nothing more was sent: ask for its outcome before you pay again.`,
        details,
      )
    : new BankqlError(
        'OUTCOME_UNKNOWN',
        `${which} has an unknown outcome: the bank may have executed it. Nothing more was sent. The operator of this server settles it with the bank (bankql payments settle); until then an equal payment is refused.`,
        details,
      );
}
