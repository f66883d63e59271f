import {
  type Answer,
  type Client,
  type ClientError,
  type Document,
  delayBefore,
  type RequestOptions,
  type TypedDocument,
  throwIfAborted,
  wait,
  withoutTexts,
} from './graphql-client.ts';

/** What bankql's record says of a payment; the members that the app's own document selects. */
export interface PaymentRecord {
  readonly state: 'PENDING' | 'DONE' | 'REJECTED' | 'UNKNOWN';
  readonly trackId?: string;
  readonly transactionId?: string | null;
  readonly status?: string | null;
  readonly code?: string | null;
  readonly value?: { readonly amount?: string | null; readonly currency?: string | null } | null;
  readonly createdAt?: string;
}

/** Asks what became of a payment. With PERSISTED_ONLY an app passes one of its own, which has an id. */
export type PaymentQuery = TypedDocument<
  { readonly payment?: PaymentRecord | null | undefined },
  { idempotencyKey: string }
>;

export const paymentQuery =
  'query Payment($idempotencyKey: String!) { payment(idempotencyKey: $idempotencyKey) { state trackId transactionId status code: failureCode value { amount currency } createdAt } }';

/**
 * How far a payment is.
 *
 * - DONE: the bank accepted it.
 * - REJECTED: the bank did not execute it, and `errors` say why. The next `pay` is a new payment.
 * - NOT_BEGUN: bankql refused it, and has begun no payment with its key so far: mend what `errors` say, and `pay` again.
 * - PENDING: it is under way for longer than one waits for it: `check` later.
 * - UNKNOWN: it was sent and may have been executed: show it, with its Track-ID. `pay` will not send it again.
 * - UNCONFIRMED: no answer said how it ended, so that it may have been executed: `check`, or `pay` again, later. Both are
 *   safe, the key is the same.
 * - CONFLICT: this intent's key belongs to another payment, which `payment` describes; this one was not sent. `forget`
 *   the intent once the person knows how that one ended.
 */
export type PaymentOutcomeState =
  | 'DONE'
  | 'REJECTED'
  | 'NOT_BEGUN'
  | 'PENDING'
  | 'UNKNOWN'
  | 'UNCONFIRMED'
  | 'CONFLICT';

export interface PaymentOutcome<Data> {
  readonly state: PaymentOutcomeState;
  readonly idempotencyKey: string;
  /** True if the key was kept from before: an earlier attempt, or the same payment once more. */
  readonly resumed: boolean;
  /** The mutation's answer, if there is one. */
  readonly data: Data | null;
  /** bankql's record of the payment, if the client asked for it. */
  readonly payment: PaymentRecord | null;
  /** Why it is not done, and last why its record could not be read; or, with DONE, what could not be read of its payload. */
  readonly errors: readonly ClientError[];
}

/** The facts that are known after one attempt. */
interface Attempt {
  readonly key: string;
  /** Whether the key was made for this very payment, so that its record can be of no other one. */
  readonly isNew: boolean;
  readonly error: ClientError | undefined;
  /** Null if there is no record; undefined if it could not be read, or a request may still be on its way. */
  readonly payment: PaymentRecord | null | undefined;
}

/** The error that is the payment's or the whole request's; one deeper down says that its payload could not be read. */
const ownError = ({ errors }: Answer<unknown>): ClientError | undefined =>
  errors.find(({ path }) => path === undefined || path.length < 2);

interface UserError {
  readonly code?: ClientError['code'];
  readonly message?: string;
  readonly retryable?: boolean;
  readonly retryAfter?: number | null;
}

/** An answer with what `pay` says in `userErrors` among its errors, as the other payments say it. */
function withUserErrors<Data>(answer: Answer<Data>): Answer<Data> {
  const payloads = Object.entries((answer.data ?? {}) as Record<string, unknown>);
  const errors = payloads.flatMap(([name, payload]) => {
    const { userErrors = [] } = (payload ?? {}) as { userErrors?: readonly UserError[] };
    return userErrors.map(
      ({ code = 'INTERNAL', message = '', retryable = false, retryAfter }): ClientError => ({
        code,
        message,
        path: [name],
        retryable,
        ...(retryAfter == null ? {} : { retryAfter }),
        extensions: { code },
      }),
    );
  });
  return errors.length === 0 ? answer : { ...answer, errors: [...errors, ...answer.errors] };
}

/** Whether the payment was answered as done: a document may leave it out, by a variable. */
const isDone = (answer: Answer<unknown>): boolean =>
  ownError(answer) === undefined &&
  // `__typename` is a text.
  Object.values(answer.data ?? {}).some((payload) => Object(payload) === payload);

/**
 * The outcome of an attempt that was not answered as done. `again`: another attempt with the same key is needed to find
 * out, which bankql answers with the end of the first one; until then `state` holds. `newKey`: the payment that this key
 * belonged to was refused, and never was this payment.
 */
function judge({ key, isNew, error, payment }: Attempt): {
  readonly state: PaymentOutcomeState;
  readonly again?: boolean;
  readonly newKey?: boolean;
} {
  if (error?.code === 'IDEMPOTENCY_KEY_REUSED')
    return { state: 'CONFLICT', newKey: payment?.state === 'REJECTED' };
  const again = error === undefined || error.retryable || error.code === 'BAD_RESPONSE';
  switch (payment?.state) {
    case undefined:
      if (error?.code === 'OUTCOME_UNKNOWN') return { state: 'UNKNOWN' };
      return { state: payment === null ? 'NOT_BEGUN' : 'UNCONFIRMED', again };
    case 'UNKNOWN':
      return { state: 'UNKNOWN' };
    case 'PENDING':
      return { state: 'PENDING', again: true };
    case 'REJECTED':
      return { state: 'REJECTED', again };
    case 'DONE': {
      // An answer that was too large says what was done.
      const isSaid = error?.extensions.state === 'DONE' && error.extensions.idempotencyKey === key;
      if (isNew || isSaid) return { state: 'DONE', again };
      // The record is of this key, and no answer said that it is of this input, or of another one.
      return { state: 'UNCONFIRMED', again };
    }
  }
}

/** `localStorage`, `sessionStorage`, React Native's AsyncStorage, or three functions of one's own. */
export interface KeyStorage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, value: string): unknown;
  removeItem(name: string): unknown;
}

export interface PaymentsOptions {
  readonly client: Client;
  /** Keeps keys over reloads, such as `localStorage`. It holds only keys, no amount and no account. */
  readonly storage: KeyStorage;
  /**
   * Makes a key. By default `crypto.randomUUID()`, which browsers have only on pages that came by HTTPS, and React Native does
   * not have: pass expo-crypto's there.
   */
  readonly randomUUID?: () => string;
  /** For how long `pay` asks again for a payment whose end it does not know (default: 30,000 ms). */
  readonly patienceMs?: number;
  /** A document of the app's own in place of `paymentQuery`, which is sent as a text: with PERSISTED_ONLY one of its manifest. */
  readonly paymentQuery?: PaymentQuery;
}

/** A payment's variables; the helper adds the key to the input. A document without the variable `input` has none. */
type PaymentVariables<V> = V extends { input: infer Input }
  ? Omit<V, 'input'> & { input: Omit<Input, 'idempotencyKey'> }
  : unknown extends V
    ? { input: object }
    : never;

export interface Payments {
  /**
   * Pays once for an intent, however often it is called: while one call is under way the next gets its promise, and a later
   * one, after a reload too, sends the key that was kept, so that bankql answers with the end of the first. `intent` is
   * the app's name for what the person wants to pay, such as a draft's id. `document` is a mutation that makes this payment
   * and nothing else, with a variable `input`; one with `pay` selects `userErrors { code message retryable retryAfter }`.
   * Errors: TypeError for a document or variables without `input`, or a `pay` without `userErrors`, and those of the storage,
   * before anything is sent; the signal's reason, which ends the waiting and not the payment.
   */
  pay<Data, V>(
    intent: string,
    document: Document<Data, V>,
    variables: PaymentVariables<V>,
    options?: RequestOptions,
  ): Promise<PaymentOutcome<Data>>;
  /** Returns the state of an intent's payment, and pays nothing; null if no key is kept for it. */
  check(intent: string, options?: RequestOptions): Promise<PaymentOutcome<never> | null>;
  /**
   * Drops the key: the next `pay` is a new payment. For when the person knows how the payment ended and nothing can pay for the
   * intent any more; right after `pay`, the second tap of two would pay again.
   */
  forget(intent: string): Promise<void>;
}

/** Errors: TypeError if there is no source of keys. */
export function createPayments(options: PaymentsOptions): Payments {
  const { client, patienceMs = 30_000 } = options;
  const { crypto } = globalThis as { crypto?: { readonly randomUUID?: () => string } };
  const randomUUID = options.randomUUID ?? crypto?.randomUUID?.bind(crypto);
  if (randomUUID === undefined) {
    throw new TypeError(
      'There is no crypto.randomUUID, which needs HTTPS: give createPayments the option randomUUID, such as that of expo-crypto in React Native.',
    );
  }
  const keys = createKeyStore(options.storage, randomUUID);
  const underWay = new Map<string, UnderWay>();
  /** An error of the storage changes nothing: the key stays, and bankql refuses it again in the same way. */
  const drop = (intent: string, key: string) => keys.drop(intent, key).catch(() => {});

  /** Undefined if the record could not be read. */
  async function ask(
    idempotencyKey: string,
    requestOptions: RequestOptions,
  ): Promise<{ payment: PaymentRecord | null | undefined; errors: readonly ClientError[] }> {
    const document = (options.paymentQuery ?? paymentQuery) as PaymentQuery;
    const { data, errors } = await client.query(document, { idempotencyKey }, requestOptions);
    return { payment: errors.length === 0 ? data?.payment : undefined, errors };
  }

  async function run<Data, V>(
    intent: string,
    document: Document<Data, V>,
    variables: PaymentVariables<V>,
  ): Promise<PaymentOutcome<Data>> {
    const retryUntil = Date.now() + patienceMs;
    let { key, isNew } = await keys.open(intent);
    const resumed = !isNew;
    let isLate = false;
    for (let tries = 0; ; tries++) {
      const { input } = variables as { input: object };
      const all = { ...variables, input: { ...input, idempotencyKey: key } } as V;
      const answer = withUserErrors(
        await client.mutate<Data, object>(document as Document<Data, object>, all as object),
      );
      const end = (
        state: PaymentOutcomeState,
        payment: PaymentRecord | null,
        unread: readonly ClientError[] = [],
      ) => {
        const { data, errors } = answer;
        const more = unread.filter(({ code }) => errors.every((error) => error.code !== code));
        return { state, idempotencyKey: key, resumed, data, payment, errors: [...errors, ...more] };
      };
      if (isDone(answer)) return end('DONE', null);
      const error = ownError(answer);
      // An error of the network or of a proxy has no code of bankql's: that request may still be on its way.
      isLate ||= !error?.extensions.code;
      const { payment, errors: unread } = await ask(key, { retryUntil });
      const known = isLate ? (payment ?? undefined) : payment;
      const { state, again, newKey } = judge({ key, isNew, error, payment: known });
      const delay = newKey ? 0 : (delayBefore(answer.errors, tries) ?? 1000);
      const isOver = Date.now() + delay > retryUntil;
      if (newKey || (state === 'REJECTED' && (!again || isOver))) await drop(intent, key);
      if (newKey && !isOver) ({ key, isNew } = await keys.open(intent));
      else if (!again || isOver) return end(state, payment ?? null, unread);
      await wait(delay);
    }
  }

  return {
    async pay<Data, V>(
      intent: string,
      document: Document<Data, V>,
      variables: PaymentVariables<V>,
      { signal }: RequestOptions = {},
    ) {
      throwIfAborted(signal);
      checkPayment(document, variables);
      const asked = JSON.stringify(variables);
      const last = underWay.get(intent);
      if (last?.document === document && last.asked === asked)
        return untilAborted(last.outcome as Promise<PaymentOutcome<Data>>, signal);
      // Another payment for the same intent: bankql says what the key belongs to, once that has ended.
      const outcome = Promise.resolve(last?.outcome)
        .catch(() => {})
        .then(() => run(intent, document, variables))
        .finally(() => {
          if (underWay.get(intent)?.outcome === outcome) underWay.delete(intent);
        });
      underWay.set(intent, { document, asked, outcome });
      return untilAborted(outcome, signal);
    },

    async check(intent, { signal } = {}) {
      const key = await keys.find(intent);
      if (key === null) return null;
      const { payment, errors } = await ask(key, { signal });
      // A request that was sent may still be on its way, also if there is no record.
      const state = payment?.state ?? 'UNCONFIRMED';
      if (state === 'REJECTED') await drop(intent, key);
      return { state, idempotencyKey: key, resumed: true, data: null, payment: payment ?? null, errors };
    },

    forget: (intent) => keys.drop(intent),
  };
}

/**
 * Errors: TypeError for a payment without the variable `input`, into which the key goes, and for a `pay` without `userErrors` under
 * that name: an answer would not show that the payment failed. If the client knows only the id of a document, bankql checks this:
 * it answers a `pay` without `userErrors` with an error, and refuses a payment without a key.
 */
function checkPayment(document: unknown, variables: unknown): void {
  const { definitions } = document as { definitions?: unknown };
  const text = definitions === undefined ? withoutTexts(String(document)) : fieldsOf(definitions);
  const { input } = (variables ?? {}) as { input?: unknown };
  if (Object(input) !== input || (/[({]/.test(text) && !/\$input\b/.test(text)))
    throw new TypeError('A payment needs a variable `input`: its key goes into it.');
  if (!/\bpay\s*\((?!\s*\$)/.test(text)) return;
  if (!/\buserErrors\b/.test(text) || /\w\s*:\s*userErrors\b/.test(text))
    throw new TypeError('Select userErrors { code message retryable retryAfter } of `pay`, under this name.');
}

/** The fields and variables of a syntax tree, as checkPayment looks for them: `alias: name(`, and `$name`. */
function fieldsOf(tree: unknown): string {
  if (typeof tree !== 'object' || tree === null) return '';
  const { kind, name, alias } = tree as Record<string, { value?: string } | undefined>;
  const before = alias ? `${alias.value}:` : String(kind) === 'Variable' ? '$' : '';
  const own = `${before}${name?.value}${String(kind) === 'Field' ? '(' : ''} `;
  return (
    own +
    Object.entries(tree)
      .map(([key, value]) => (key === 'loc' ? '' : fieldsOf(value)))
      .join('')
  );
}

/** A payment that is being made, and what was asked for. */
interface UnderWay {
  readonly document: unknown;
  readonly asked: string;
  readonly outcome: Promise<unknown>;
}

/** Waits for a promise; an abort ends the waiting with the signal's reason. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });
}

/** Locks of the browser. Pages that came without HTTPS, old WebViews and React Native have none. */
interface Locks {
  request<T>(name: string, run: () => Promise<T>): Promise<T>;
}

/** The last change of each intent's key in this JavaScript context, over all calls of createPayments. */
const changes = new Map<string, Promise<unknown>>();

/**
 * How long after a key was written it is read back if there are no locks: longer than another tab takes between finding
 * no key and writing its own.
 */
const settleMs = 50;

/** Keeps each intent's idempotency key. Errors: those of the storage. */
function createKeyStore(storage: KeyStorage, randomUUID: () => string) {
  const nameOf = (intent: string) => `bankql:payment:${intent}`;
  const find = async (intent: string) => (await storage.getItem(nameOf(intent))) ?? null;
  const { locks } = (globalThis as { navigator?: { locks?: Locks } }).navigator ?? {};

  /** Changes of an intent's key happen one after another, so that two screens, or two tabs, do not make a key each. */
  function alone<T>(intent: string, run: () => Promise<T>): Promise<T> {
    const name = nameOf(intent);
    const last = changes.get(name) ?? Promise.resolve();
    const change = last.then(() => (locks ? locks.request(name, run) : run()));
    const end = change
      .catch(() => {})
      .then(() => {
        if (changes.get(name) === end) changes.delete(name);
      });
    changes.set(name, end);
    return change;
  }

  return {
    /** The key that is kept once the changes that have begun are made; null for none. */
    find: (intent: string) => alone(intent, () => find(intent)),
    /** The key that is kept, or a new one, which is kept before anybody can send it. */
    open: (intent: string) =>
      alone(intent, async () => {
        const kept = await find(intent);
        if (kept !== null) return { key: kept, isNew: false };
        const key = randomUUID();
        await storage.setItem(nameOf(intent), key);
        if (locks) return { key, isNew: true };
        await wait(settleMs);
        const settled = await find(intent);
        if (settled === null) throw new Error('The storage did not keep the key of the payment.');
        return { key: settled, isNew: settled === key };
      }),
    /** Forgets a key, if it is still the one that is kept. */
    drop: (intent: string, key?: string) =>
      alone(intent, async () => {
        if (key === undefined || (await find(intent)) === key) await storage.removeItem(nameOf(intent));
      }),
  };
}
