import { type BreakerOptions, createBreakers } from './breaker.ts';
import { again, type PreparedCall } from './call.ts';
import { callerOf, secretsOf } from './credentials.ts';
import { bankText } from './failure.ts';
import { createRetryBudget, retryWaitMs } from './retry.ts';
import {
  createTransport,
  saysAway,
  TransportFailure,
  type TransportOptions,
  type WireReply,
} from './transport.ts';
import { createTurnstile } from './turnstile.ts';

export interface AttemptOptions extends TransportOptions {
  /** How long a call waits for its turn among `connections`, in milliseconds. */
  readonly connectionWaitMs: number;
  /** The share of reads that may be tried again; 0 for none. */
  readonly retryShare: number;
  readonly breaker: BreakerOptions;
  /** Is told of every attempt that ended; it must not throw. */
  readonly onCall?: ((call: CallReport) => void) | undefined;
}

/** One attempt that ended. Holds no credential and no path: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null where no whole answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** Why no whole answer came, as TransportFailure has it; null where one did. */
  readonly reason: TransportFailure['reason'] | null;
  /** The same in words. */
  readonly failure: string | null;
  /** What the bank said in a 4xx or 5xx answer, bounded and without credentials. */
  readonly bankText: string | null;
}

/** A call and what came of it; of the second attempt, where there was one. */
export interface Outcome {
  readonly call: PreparedCall;
  readonly reply: WireReply | TransportFailure;
}

/** Sends calls: in their turn, behind their operation's breaker, within their time. */
export function createAttempts(options: AttemptOptions) {
  const transport = createTransport(options);
  const places = { places: options.connections, waitMs: options.connectionWaitMs };
  const turns = { read: createTurnstile(places), write: createTurnstile(places) };
  const breakers = createBreakers(options.breaker);
  const retries = createRetryBudget(options.retryShare);

  /** Sends a call, once. Errors: TransportFailure. */
  async function once(call: PreparedCall, timeoutMs: number, signal?: AbortSignal): Promise<WireReply> {
    const { operation, credentials, trackId } = call;
    const started = performance.now();
    const report = (outcome: Pick<CallReport, 'status' | 'reason' | 'failure' | 'bankText'>) =>
      options.onCall?.({
        operation: operation.id,
        trackId,
        milliseconds: performance.now() - started,
        ...outcome,
      });
    try {
      const reply = await breakers.guard(operation, () => exchange(call, started + timeoutMs, signal));
      const text = reply.status >= 400 ? bankText(reply, secretsOf(credentials)) : null;
      report({ status: reply.status, reason: null, failure: null, bankText: text });
      return reply;
    } catch (error) {
      const reason = error instanceof TransportFailure ? error.reason : null;
      report({ status: null, reason, failure: describe(error), bankText: null });
      throw error;
    }
  }

  async function exchange(call: PreparedCall, deadline: number, signal?: AbortSignal): Promise<WireReply> {
    const { operation, credentials, request, trackId } = call;
    const isRead = operation.kind === 'read';
    const leave = await turns[isRead ? 'read' : 'write'].enter(
      callerOf(credentials),
      deadline - performance.now(),
      signal,
    );
    try {
      return await transport.exchange(
        trackId === null ? request : { ...request, headers: { ...request.headers, 'Track-ID': trackId } },
        { timeoutMs: deadline - performance.now(), signal, ownConnection: !isRead },
      );
    } finally {
      leave();
    }
  }

  /** Sends a read, and once more where the bank was away for a moment. A failure is a value here. */
  async function twice(call: PreparedCall, deadline: number, signal?: AbortSignal): Promise<Outcome> {
    retries.earn();
    const first = await settle(once(call, deadline - performance.now(), signal));
    if (!isWorthAnother(first)) return { call, reply: first };
    const waitMs = retryWaitMs();
    if (deadline - performance.now() <= waitMs || signal?.aborted || !retries.spend())
      return { call, reply: first };
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (deadline <= performance.now()) return { call, reply: first };
    const second = again(call);
    return { call: second, reply: await settle(once(second, deadline - performance.now(), signal)) };
  }

  return { once, twice, close: () => transport.close() };
}

/** No connection, a connection that broke, or a proxy's word that the bank is away: it may have been a moment. */
const isWorthAnother = (reply: WireReply | TransportFailure): boolean =>
  reply instanceof TransportFailure ? reply.reason === 'unavailable' : saysAway(reply);

/** A transport's failure as a value; anything else is a fault of ours, and goes on. */
const settle = (attempt: Promise<WireReply>): Promise<WireReply | TransportFailure> =>
  attempt.catch((error: unknown) => {
    if (error instanceof TransportFailure) return error;
    throw error;
  });

/** A failure and what caused it: undici's messages name hosts and ports at most. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`;
}
