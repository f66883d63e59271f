import { z } from 'zod';
import { credentials } from './bankql.ts';
import { untilFound } from './waits.ts';

/** The result of a payment, success and failure alike. */
export interface Told {
  /** `DONE`, or the error's code. */
  readonly code: string;
  readonly trackId: string | null;
  readonly replayed: boolean;
  readonly transactionId: string | null;
  readonly idempotencyKey: string | null;
  readonly status: number | null;
  /** The error's words. */
  readonly message: string | null;
  /** The seconds after which the request may be repeated; null if it may not. */
  readonly retryAfter: number | null;
}

/** The input of a payment; any field of MakeTransactionInput or PutTransactionRequestInput. */
export interface Payment {
  readonly idempotencyKey: string;
  readonly [field: string]: unknown;
}

/** A transfer from an account that is named like the key, so that the bank knows which payment arrived. */
export const transfer = (
  idempotencyKey: string,
  change: Readonly<Record<string, unknown>> = {},
): Payment => ({
  bankId: 'BANK',
  accountId: idempotencyKey,
  to: { bankId: 'TO-BANK', accountId: 'to' },
  value: { amount: '12.50', currency: 'EUR' },
  idempotencyKey,
  ...change,
});

const documents = {
  makeTransaction: `mutation ($input: MakeTransactionInput!) {
    paid: makeTransaction(input: $input) { replayed payment { trackId transactionId } }
  }`,
  putTransactionRequest: `mutation ($input: PutTransactionRequestInput!) {
    paid: putTransactionRequest(input: $input) { replayed payment { trackId } }
  }`,
};

const answer = z.object({
  data: z
    .object({
      paid: z
        .object({
          replayed: z.boolean(),
          payment: z.object({ trackId: z.string(), transactionId: z.string().nullish() }),
        })
        .nullish(),
    })
    .nullish(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        extensions: z.object({
          code: z.string(),
          retryAfter: z.number().nullish(),
          trackId: z.string().nullish(),
          idempotencyKey: z.string().nullish(),
          status: z.number().nullish(),
        }),
      }),
    )
    .optional(),
});

export interface PayOptions {
  /** Headers that replace the test's usual credentials, or are added to them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly mutation?: keyof typeof documents;
  readonly signal?: AbortSignal;
}

/** The body of a payment's HTTP request. */
export const payBody = (input: Payment, mutation: keyof typeof documents = 'makeTransaction'): string =>
  JSON.stringify({ query: documents[mutation], variables: { input } });

/** bankql at an address, or in this process. */
export type Target = string | { fetch(request: Request): Promise<Response> };

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  // Node itself gives this answer if a request does not arrive in time, for example on a machine that was suspended. bankql has
  // not seen the request.
  if (response.status === 408 && text === '') throw new TypeError('The request did not arrive in time.');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`The answer with status ${response.status} is not JSON: ${JSON.stringify(text)}`, {
      cause,
    });
  }
}

/**
 * Sends a payment to bankql.
 * Errors: those of `fetch`, if there is no answer.
 */
export async function pay(target: Target, input: Payment, options: PayOptions = {}): Promise<Told> {
  const request = new Request(`${typeof target === 'string' ? target : 'http://bankql.test'}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...credentials, ...options.headers },
    body: payBody(input, options.mutation),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const response = await (typeof target === 'string' ? fetch(request) : target.fetch(request));
  const { data, errors = [] } = answer.parse(await jsonOf(response));
  const [error] = errors;
  return {
    code: error?.extensions.code ?? 'DONE',
    trackId: data?.paid?.payment.trackId ?? error?.extensions.trackId ?? null,
    replayed: data?.paid?.replayed ?? false,
    transactionId: data?.paid?.payment.transactionId ?? null,
    idempotencyKey: error?.extensions.idempotencyKey ?? null,
    status: error?.extensions.status ?? null,
    message: error?.message ?? null,
    retryAfter: error?.extensions.retryAfter ?? null,
  };
}

/** Repeats the request while the payment is in progress. */
export const payToTheEnd = (target: Target, input: Payment, options: PayOptions = {}): Promise<Told> =>
  untilFound(async () => {
    const told = await pay(target, input, options);
    return told.code === 'IDEMPOTENCY_IN_PROGRESS' ? undefined : told;
  });
