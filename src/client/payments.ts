import {
  type Document,
  members,
  type PaymentError,
  type PaymentErrorCode,
  type ReadAnswer,
  readAnswer,
  type TypedDocument,
} from './answer.ts';
import { createKeyStore, type KeyStorage } from './key-store.ts';
import { throwIfAborted, untilAborted, wait } from './waits.ts';

/** A payment as bankql records it, with the members that the app's document selects. */
export interface Payment {
  readonly state: 'PENDING' | 'DONE' | 'REJECTED' | 'UNKNOWN';
  readonly trackId?: string;
  readonly transactionId?: string | null;
  readonly status?: string | null;
  readonly failureCode?: string | null;
  readonly value?: { readonly amount?: string | null; readonly currency?: string | null } | null;
  readonly createdAt?: string;
}

/** A query for a payment. With PERSISTED_ONLY, an app passes a query of its own manifest. */
export type PaymentDocument = Document<
  { readonly payment?: Payment | null | undefined },
  { idempotencyKey: string }
>;

export const paymentQuery =
  'query Payment($idempotencyKey: String!) { payment(idempotencyKey: $idempotencyKey) { id state trackId transactionId status failureCode value { amount currency } createdAt } }';

/**
 * The state of a payment.
 *
 * - DONE: the bank executed it, or accepted it, as `status` says.
 * - REJECTED: the bank did not execute it. The next `pay` is a new payment.
 * - NOT_SENT: bankql refused it, and no payment with its key was begun. Correct the problem and `pay` again.
 * - PENDING: it is still in progress: `check` later.
 * - UNKNOWN: it was sent and may have been executed: show it with its Track-ID. `pay` does not send it again.
 * - UNCONFIRMED: no answer said how it ended, so it may have been executed. `check`, or `pay` again, later: both are safe,
 *   because the key is the same.
 * - CONFLICT: the intent's key belongs to another payment, which `payment` describes; this one was not sent. `forget` the
 *   intent when the person knows how that one ended.
 */
export type PaymentOutcomeState =
  | 'DONE'
  | 'REJECTED'
  | 'NOT_SENT'
  | 'PENDING'
  | 'UNKNOWN'
  | 'UNCONFIRMED'
  | 'CONFLICT';

export interface PaymentOutcome<Data> {
  readonly state: PaymentOutcomeState;
  readonly idempotencyKey: string;
  /** The mutation's data, if it answered. */
  readonly data: Data | null;
  /** bankql's record of the payment, if the document selects `payment { state }` or the client has queried it. */
  readonly payment: Payment | null;
  /** Why the payment is not done, or why its record could not be read. With DONE, the errors of fields that could not be read. */
  readonly errors: readonly PaymentError[];
}

export interface PaymentsOptions {
  /**
   * Sends one operation by the app's GraphQL client, and returns that client's result; it may throw. `document` is the one that
   * `pay` was given, or `paymentQuery`.
   */
  send(
    document: string | TypedDocument<unknown, never>,
    variables: Record<string, unknown>,
  ): Promise<unknown>;
  /** Keeps keys over reloads, such as `localStorage`. It contains only keys, no amount and no account. */
  readonly storage: KeyStorage;
  /**
   * Creates a key. The default needs `crypto.getRandomValues`, which React Native does not have: pass expo-crypto's randomUUID.
   */
  readonly randomId?: () => string;
  /** The time to wait for one answer (default: 20,000 ms). */
  readonly timeoutMs?: number;
  /** The time for which `pay` repeats the request while the outcome is unknown (default: 30,000 ms). */
  readonly patienceMs?: number;
  /** The app's own document, in place of the text `paymentQuery`. */
  readonly paymentQuery?: PaymentDocument;
}

/** The variables of a payment. The client adds the key to `input`. A document without the variable `input` is not allowed. */
type PaymentVariables<V> = V extends { input: infer Input }
  ? Omit<V, 'input'> & { input: Omit<Input, 'idempotencyKey'> }
  : unknown extends V
    ? { input: object }
    : never;

interface Waiting {
  readonly signal?: AbortSignal | undefined;
}

export interface Payments {
  /**
   * Pays once for an intent, however often it is called. While a call is under way, the next one gets its promise. A later
   * call, even after a reload, sends the stored key, so that bankql answers with the outcome of the first call. `intent` is
   * the app's name for the payment that the person wants, such as a draft's id. `document` is a mutation that makes this
   * payment and nothing else, with a variable `input`; it selects `payment { state }` and `userErrors { code message }`.
   * Errors: TypeError for a document or variables without `input`, and those of the storage, before anything is sent; the
   * signal's reason or an AbortError, which ends the waiting and not the payment.
   */
  pay<Data, V>(
    intent: string,
    document: Document<Data, V>,
    variables: PaymentVariables<V>,
    waiting?: Waiting,
  ): Promise<PaymentOutcome<Data>>;
  /** Returns the state of an intent's payment, and pays nothing; null if no key is stored for it. */
  check(intent: string, waiting?: Waiting): Promise<PaymentOutcome<never> | null>;
  /**
   * Removes the key, so that the next `pay` is a new payment. Call it when the person has seen the outcome,
   * and the app can no longer call `pay` with this intent. If it is called right after `pay`, the second tap
   * of a double tap pays again.
   */
  forget(intent: string): Promise<void>;
}

/**
 * Codes that prove that this request has begun no payment. true: the unchanged request may be sent again. After any other
 * answer, and without an answer, the request may still be on its way, so the same key is sent again.
 */
const refusals: { readonly [Code in PaymentErrorCode]?: boolean } = {
  RATE_LIMITED: true,
  OVERLOADED: true,
  STATE_UNAVAILABLE: true,
  BANK_UNAVAILABLE: true,
  BANK_TIMEOUT: true,
  BAD_USER_INPUT: false,
  MISSING_CREDENTIALS: false,
  UNAUTHENTICATED: false,
  FORBIDDEN: false,
  NOT_FOUND: false,
  BANK_REJECTED: false,
  CALL_BUDGET_EXCEEDED: false,
  LIMIT_EXCEEDED: false,
  GRAPHQL_PARSE_FAILED: false,
  GRAPHQL_VALIDATION_FAILED: false,
  PERSISTED_DOCUMENT_REQUIRED: false,
};

/** Whether a repetition of the request would get the same answer. */
const isFinal = (code: PaymentErrorCode): boolean =>
  refusals[code] === false || code === 'IDEMPOTENCY_KEY_REUSED' || code === 'OUTCOME_UNKNOWN';

/** The maximum of `retryAfter`, in seconds. A wrong header must not stop an app for hours. */
const longestRetryAfter = 60;

/** The delay before the next try, in milliseconds: it grows, has a random part, and is at least the server's `retryAfter`. */
const delayBefore = ({ retryAfter }: ReadAnswer, tries: number): number =>
  Math.max(
    Math.min(retryAfter, longestRetryAfter) * 1000,
    Math.min(250 * 2 ** tries, 4000) * (0.5 + Math.random() / 2),
  );

/** The value as a payment, if it has a state; undefined for anything else. */
const paymentOf = (value: unknown): Payment | undefined =>
  ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'].includes(String(members(value).state))
    ? (value as Payment)
    : undefined;

/** Whether the document has the variable `input` for the key. A document given by its id alone is not checked. */
function takesInput(document: unknown): boolean {
  if ('definitions' in members(document))
    return JSON.stringify(document).includes('"Variable","name":{"kind":"Name","value":"input"');
  const text = String(document);
  return text === '[object Object]' || text.includes('$input');
}

/**
 * The state that this answer alone proves for the payment with this key. DONE needs `payment { state }` or an empty
 * `userErrors` in the answer. The absence of `userErrors` is not enough, because a document may rename the field.
 */
function toldBy({ data, ownError }: ReadAnswer, key: string): Payment | undefined {
  if (ownError?.code === 'IDEMPOTENCY_KEY_REUSED') return undefined;
  // With a second mutation in the document, the payload of the payment cannot be distinguished from the other one.
  const [payload, other] = Object.values(data).filter((value) => Object(value) === value);
  const { payment, userErrors } = members(other === undefined ? payload : undefined);
  // If the answer was too large, the error contains the state.
  const isOfKey = ownError?.extensions.idempotencyKey === key;
  const told = paymentOf(payment) ?? (isOfKey ? paymentOf(ownError.extensions) : undefined);
  return told ?? (ownError === undefined && Array.isArray(userErrors) ? { state: 'DONE' } : undefined);
}

/** The state of a payment if the mutation's answer did not contain it. `payment` is the result of findPayment. */
function stateOf(
  payment: Payment | null | undefined,
  code: PaymentErrorCode | undefined,
  isNew: boolean,
  isQuiet: boolean,
): PaymentOutcomeState {
  if (payment?.state === 'REJECTED') return 'REJECTED';
  if (code === 'IDEMPOTENCY_KEY_REUSED') return 'CONFLICT';
  if (payment == null && code === 'OUTCOME_UNKNOWN') return 'UNKNOWN';
  if (payment === null && isQuiet) return 'NOT_SENT';
  // A key that is older than this call may belong to another input, even if its record is DONE.
  return payment == null || (payment.state === 'DONE' && !isNew) ? 'UNCONFIRMED' : payment.state;
}

/** Errors: TypeError if random keys cannot be created. */
export function createPayments(options: PaymentsOptions): Payments {
  const { timeoutMs = 20_000, patienceMs = 30_000 } = options;
  const keys = createKeyStore(options.storage, options.randomId);
  /** The payments in progress, each with its document and input. */
  const underWay = new Map<string, { document: unknown; asked: string; outcome: Promise<unknown> }>();
  /** Keys that were created here, for which no request can be on its way. */
  const quiet = new Set<string>();

  async function ask(document: Document<unknown, never>, variables: Record<string, unknown>) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, timeoutMs, { error: `No answer came within ${timeoutMs} ms.` });
    });
    try {
      return readAnswer(await Promise.race([options.send(document, variables), late]));
    } catch (error) {
      return readAnswer({ error: error ?? 'No answer came.' });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The payment that bankql has recorded; null if it has no record, undefined if the record could not be read. */
  async function findPayment(idempotencyKey: string) {
    const { data, errors } = await ask(options.paymentQuery ?? paymentQuery, { idempotencyKey });
    if (errors.length > 0) return { payment: undefined, errors };
    return { payment: data.payment === null ? null : paymentOf(data.payment), errors };
  }

  /** Drops the key of a rejected payment. If the storage fails, the key stays, and the next `pay` gets the same rejection. */
  async function close<Outcome extends PaymentOutcome<unknown>>(
    intent: string,
    outcome: Outcome,
  ): Promise<Outcome> {
    if (outcome.state === 'REJECTED') await keys.drop(intent, outcome.idempotencyKey).catch(() => {});
    return outcome;
  }

  async function run<Data>(
    intent: string,
    document: Document<Data, never>,
    variables: { readonly input: object },
  ): Promise<PaymentOutcome<Data>> {
    // performance.now() and not Date.now(), because a phone's clock may be set in the meantime.
    const end = performance.now() + patienceMs;
    const { key, isNew } = await keys.open(intent);
    if (isNew) quiet.add(key);
    for (let tries = 0; ; tries++) {
      const answer = await ask(document, {
        ...variables,
        input: { ...variables.input, idempotencyKey: key },
      });
      const { errors, ownError } = answer;
      const told = toldBy(answer, key);
      const data = Object.keys(answer.data).length === 0 ? null : (answer.data as Data);
      const outcome = { idempotencyKey: key, data, payment: told ?? null, errors };
      if (told !== undefined && told.state !== 'PENDING')
        return close(intent, { ...outcome, state: told.state });

      if (ownError === undefined || refusals[ownError.code] === undefined) quiet.delete(key);
      const mayEnd = told !== undefined || (ownError !== undefined && !isFinal(ownError.code));
      const delay = delayBefore(answer, tries);
      if (!mayEnd || performance.now() + delay > end) {
        const { payment, errors: unread } = await findPayment(key);
        const state = stateOf(payment, ownError?.code, isNew, quiet.has(key));
        return close(intent, { ...outcome, state, payment: payment ?? null, errors: [...errors, ...unread] });
      }
      await wait(delay);
    }
  }

  return {
    async pay<Data, V>(
      intent: string,
      document: Document<Data, V>,
      variables: PaymentVariables<V>,
      { signal }: Waiting = {},
    ) {
      throwIfAborted(signal);
      const { input } = members(variables);
      if (Object(input) !== input || !takesInput(document))
        throw new TypeError('A payment needs a variable `input`: its key goes into it.');
      const asked = JSON.stringify(variables);
      const last = underWay.get(intent);
      if (last?.document === document && last.asked === asked)
        return untilAborted(last.outcome as Promise<PaymentOutcome<Data>>, signal);
      // Waits until the intent's payment in progress has ended: bankql can then say to which payment the key belongs.
      const outcome = Promise.resolve(last?.outcome)
        .catch(() => {})
        .then(() => run(intent, document, variables as { readonly input: object }))
        .finally(() => {
          if (underWay.get(intent)?.outcome === outcome) underWay.delete(intent);
        });
      underWay.set(intent, { document, asked, outcome });
      return untilAborted(outcome, signal);
    },

    check(intent, { signal } = {}) {
      const checked = async (): Promise<PaymentOutcome<never> | null> => {
        const key = await keys.find(intent);
        if (key === null) return null;
        const { payment = null, errors } = await findPayment(key);
        // The absence of a record proves nothing: the request that was sent may still be on its way.
        const state = payment?.state ?? 'UNCONFIRMED';
        return close(intent, { state, idempotencyKey: key, data: null, payment, errors });
      };
      return untilAborted(checked(), signal);
    },

    forget: (intent) => keys.drop(intent),
  };
}
