import { defaultFieldResolver, type GraphQLField, type GraphQLSchema, responsePathAsArray } from 'graphql';
import type { CallOutcome } from '../bank/call-observer.ts';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { knownResolver, sameAs } from '../executor/known-resolvers.ts';
import type { PaymentRecord } from '../payments/payment-record.ts';
import type { PaymentService } from '../payments/service.ts';
import { RequestError } from './errors.ts';
import { withFields } from './map-fields.ts';

/** The name of the header by which a request asks for an explanation, in lower case. */
export const explainHeader = 'x-bankql-explain';

/** A REST call of an operation, as `x-bankql-explain: calls` shows it. */
export interface RecordedCall extends Omit<CallOutcome, 'source'> {
  /** The field that first needs the call, by response names and list positions. */
  readonly path: string;
  /** The REST operation's id in the contract. */
  readonly operation: string;
  readonly method: Operation['method'];
  /** The path as in the specification, with parameters in place of ids, because ids are private. */
  readonly url: string;
  /**
   * Where the answer came from:
   * - `bank`: a REST call of its own.
   * - `joined`: the call of an identical read that was in progress.
   * - `cached`, `stale`: an earlier answer.
   * - `loader`: an earlier read of this operation.
   * - `record`: the record of a payment.
   * - `none`: a payment for which this request sent nothing.
   * - `unknown`: a payment that failed unexpectedly.
   * - `pending`: a call for which the answer did not wait.
   */
  readonly source: CallOutcome['source'] | 'loader' | 'record' | 'none' | 'unknown' | 'pending';
  /**
   * When the call was requested, relative to the operation's start, and how long it took, including the wait for a connection.
   */
  readonly offsetMs: number;
  readonly milliseconds: number | null;
}

type Outcome = Pick<RecordedCall, keyof CallOutcome>;

const nothingKnown = { status: null, bytes: null, trackId: null, code: null } as const;

/** The maximum number of listed calls; further calls are only counted. */
const maxShown = 1000;

/** Records the calls of one operation, for a request that asks for them. */
export type CallRecorder = ReturnType<typeof createRecorder>;

function createRecorder() {
  const started = performance.now();
  const recorded: { readonly call: RecordedCall; readonly key: string | null }[] = [];
  /** The field that was the first to request each read, by the read's key. */
  const firstPaths = new Map<string, string>();
  let current = '';
  let restCalls = 0;

  function note(
    { id, method, path: url }: Operation,
    key: string | null,
    start: number,
    source: RecordedCall['source'],
  ): RecordedCall {
    const offsetMs = tenths(start - started);
    const call = {
      path: current,
      operation: id,
      method,
      url,
      source,
      ...nothingKnown,
      offsetMs,
      milliseconds: null,
    };
    if (recorded.length < maxShown) recorded.push({ call, key });
    return call;
  }

  /**
   * Records a call when it begins, because the answer may not wait for its end: the field's object may turn out not to
   * exist.
   */
  function began(operation: Operation, key: string | null): (outcome: Outcome) => void {
    const start = performance.now();
    const call = note(operation, key, start, 'pending');
    restCalls++;
    return (outcome) => {
      if (outcome.source !== 'bank') restCalls--;
      Object.assign(call, outcome, { milliseconds: tenths(performance.now() - start) });
    };
  }

  return {
    /** Runs a resolver: all requests before its first `await` are attributed to this field. */
    during<T>(path: string, resolve: () => T): T {
      // The outer field is restored afterwards, because a resolver may resolve some fields below its own early.
      const outer = current;
      current = path;
      try {
        return resolve();
      } finally {
        current = outer;
      }
    },
    requested(operation: Operation, key: string): void {
      if (!firstPaths.has(key)) firstPaths.set(key, current);
      else note(operation, null, performance.now(), 'loader');
    },
    began,
    /** The payment service, with each payment recorded. */
    payments: (payments: PaymentService): PaymentService => ({
      ...payments,
      pay: async (operation, intent) => {
        const ended = began(operation, null);
        const { input, idempotencyKey } = intent;
        const earlier = payments.find(input.credentials, idempotencyKey).catch(() => null);
        try {
          const paid = await payments.pay(operation, intent);
          ended({ ...nothingKnown, source: paid.replayed ? 'record' : 'bank', trackId: paid.trackId });
          return paid;
        } catch (error) {
          ended(failedPayment(error, await earlier));
          throw error;
        }
      },
    }),
    /** The value of `extensions.explain`: the calls in the order in which they began. */
    get explanation(): { readonly restCalls: number; readonly calls: readonly RecordedCall[] } {
      const calls = recorded.map(({ call, key }) => ({
        ...call,
        path: (key === null ? undefined : firstPaths.get(key)) ?? call.path,
      }));
      return { restCalls, calls: calls.sort((a, b) => a.offsetMs - b.offsetMs) };
    },
  };
}

/**
 * The outcome of a payment that failed. The request that sent it and later requests with its key get the same
 * error. Only `earlier` distinguishes them: the payment's record as it was when the request began.
 */
function failedPayment(error: unknown, earlier: PaymentRecord | null): Outcome {
  if (!(error instanceof BankqlError)) return { ...nothingKnown, source: 'unknown', code: 'INTERNAL' };
  const { code, status = null, trackId = null } = error.extensions;
  const wasSent = status !== null || code === 'OUTCOME_UNKNOWN';
  const hadEnded = earlier !== null && earlier.state !== 'PENDING';
  return { source: hadEnded ? 'record' : wasSent ? 'bank' : 'none', status, bytes: null, trackId, code };
}

const tenths = (milliseconds: number) => Math.round(milliseconds * 10) / 10;

type Field = GraphQLField<unknown, unknown>;

/**
 * The field, with a resolver that reports its path to the recorder. A resolver that uses only its source is kept, because
 * it makes no call.
 */
function recordedField(field: Field, recorder: CallRecorder): Field {
  const { resolve = defaultFieldResolver } = field;
  const { property, usesOnlySource } = knownResolver(resolve);
  if (resolve === defaultFieldResolver || property !== undefined || usesOnlySource) return field;
  const recordedResolve: typeof resolve = (source, given, context, info) =>
    recorder.during(responsePathAsArray(info.path).join('.'), () => resolve(source, given, context, info));
  return Object.create(field, { resolve: { value: sameAs(recordedResolve, resolve) } });
}

/**
 * Records the calls of an operation if the value of the header x-bankql-explain asks for this; otherwise null.
 * Errors: BAD_USER_INPUT for another value, or if requests may not ask.
 */
export function recorderFor(header: string | undefined, isAllowed: boolean): CallRecorder | null {
  if (header === undefined) return null;
  if (!isAllowed)
    throw new RequestError(
      'BAD_USER_INPUT',
      `${explainHeader} is switched off here; the operator switches it on with EXPLORE=on.`,
    );
  if (header !== 'calls') throw new RequestError('BAD_USER_INPUT', `${explainHeader} takes the value calls.`);
  return createRecorder();
}

/** The schema with resolvers that report to the recorder. */
export const observedBy = (recorder: CallRecorder, schema: GraphQLSchema): GraphQLSchema =>
  withFields(schema, (field) => recordedField(field, recorder));
