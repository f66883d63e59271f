import { randomUUID } from 'node:crypto';
import { writeExactJson } from '../contract/exact-json.ts';
import type { Answer, Body, Operation, PathIds } from '../contract/operation.ts';
import { checkAnswer, parseAnswer } from './answer.ts';
import { type Credentials, credentialHeadersFor } from './credentials.ts';
import { BankqlError, type ErrorDetails } from './error.ts';
import { fillPath } from './path.ts';
import { bankText, refusal, unknownOutcome } from './refusal.ts';
import { createTransport, TransportFailure, type WireReply, type WireRequest } from './transport.ts';

export interface BankOptions {
  /** The bank's address, {base_url} of the specification; every path is appended to it. */
  readonly baseUrl: string;
  /** The deadline of a read or a write, and that of a payment, in milliseconds. */
  readonly timeoutMs: number;
  readonly paymentTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly connections: number;
  readonly maxBodyBytes: number;
  /** Is told of every call that ended, for the log; it must not throw. */
  readonly onCall?: (call: CallReport) => void;
}

/** One call that ended. Holds no credential and no path: ids are private. */
export interface CallReport {
  readonly operation: string;
  /** The bank's status; null where no whole answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  readonly trackId: string | null;
  /** What went wrong on the way, where something did. */
  readonly failure: string | null;
  /** What the bank said in a 4xx or 5xx answer, bounded and without credentials. */
  readonly bankText: string | null;
}

/** What a call of an operation needs: its ids, its body, who asks. */
export interface CallInput<T extends Operation> {
  readonly ids: PathIds<T>;
  /** Absent where the operation has none. */
  readonly body?: Body<T> | undefined;
  readonly credentials: Credentials;
}

/** A call that is checked and ready to leave. */
export interface PreparedCall<T extends Operation> {
  readonly operation: T;
  readonly credentials: Credentials;
  /** Without the Track-ID, which belongs to one sending. */
  readonly request: WireRequest;
  readonly trackId: string | null;
}

export interface BankClient {
  /**
   * Checks a call and makes its request; nothing is sent.
   * Errors: BAD_USER_INPUT (an id), MISSING_CREDENTIALS.
   */
  prepare<T extends Operation>(operation: T, input: CallInput<T>): PreparedCall<T>;
  /** Sends a prepared call, once, whatever its answer. Errors: TransportFailure. */
  send(call: PreparedCall<Operation>, signal?: AbortSignal): Promise<WireReply>;
  /** The error for a reply that is no success, with the bank's text where that may be shown. */
  refusal(call: PreparedCall<Operation>, reply: WireReply): BankqlError;
  /**
   * Calls a read or a write and checks its answer.
   * Shape:  the answer as contract/ has it, and the call's Track-ID (null for an operation without one).
   * Errors: BankqlError with any code of the bank's and of `prepare`. A raised `signal` gives reads up; writes run
   *         to their end.
   */
  call<T extends Operation>(
    operation: T,
    input: CallInput<T>,
    signal?: AbortSignal,
  ): Promise<{ readonly answer: Answer<T>; readonly trackId: string | null }>;
  close(): Promise<void>;
}

/** The bank, called as the specification says. Knows nothing of GraphQL. */
export function createBankClient(options: BankOptions): BankClient {
  const { origin, pathname } = new URL(options.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const transport = createTransport({ ...options, origin });

  const client: BankClient = {
    prepare(operation, { ids, body, credentials }) {
      const headers = credentialHeadersFor(operation, credentials);
      headers.Accept = 'application/json';
      headers['Accept-Encoding'] = 'identity';
      if (operation.body !== null) headers['Content-Type'] = 'application/json';
      return {
        operation,
        credentials,
        trackId: operation.tracked ? randomUUID() : null,
        request: {
          method: operation.method,
          path: prefix + fillPath(operation.path, ids),
          headers,
          body: operation.body === null ? null : writeExactJson(body),
        },
      };
    },

    async send({ operation, credentials, request, trackId }, signal) {
      const started = performance.now();
      const report = (outcome: Pick<CallReport, 'status' | 'failure' | 'bankText'>) =>
        options.onCall?.({
          operation: operation.id,
          trackId,
          milliseconds: performance.now() - started,
          ...outcome,
        });
      const headers = trackId === null ? request.headers : { ...request.headers, 'Track-ID': trackId };
      try {
        const reply = await transport.exchange(
          { ...request, headers },
          {
            timeoutMs: operation.kind === 'payment' ? options.paymentTimeoutMs : options.timeoutMs,
            signal,
            ownConnection: operation.kind !== 'read',
          },
        );
        const text = reply.status >= 400 ? bankText(reply, secretsOf(credentials)) : null;
        report({ status: reply.status, failure: null, bankText: text });
        return reply;
      } catch (error) {
        report({ status: null, failure: describe(error), bankText: null });
        throw error;
      }
    },

    refusal(call, reply) {
      const details = { ...detailsOf(call), status: reply.status };
      return refusal(call.operation.kind, reply, bankText(reply, secretsOf(call.credentials)), details);
    },

    async call(operation, input, signal) {
      const call = client.prepare(operation, input);
      const details = detailsOf(call);
      const reply = await client
        .send(call, operation.kind === 'read' ? signal : undefined)
        .catch((error: unknown) => {
          throw error instanceof TransportFailure ? transportError(call, error) : error;
        });
      if (reply.status < 200 || reply.status > 299) throw client.refusal(call, reply);
      const answered = { ...details, status: reply.status };
      const answer = checkAnswer(operation, parseAnswer(reply, answered), answered);
      return { answer, trackId: call.trackId };
    },

    close: () => transport.close(),
  };
  return client;
}

/** The error for a call without a whole answer. */
export function transportError(call: PreparedCall<Operation>, failure: TransportFailure): BankqlError {
  const { operation } = call;
  const error = (code: BankqlError['code'], message: string) =>
    new BankqlError(code, message, detailsOf(call), { cause: failure });
  if (failure.reason === 'refused')
    return error(
      'BANK_BAD_RESPONSE',
      `The bank's answer to ${operation.id} is not read: ${failure.message}.`,
    );
  if (failure.sent && operation.kind !== 'read')
    return error('OUTCOME_UNKNOWN', unknownOutcome(operation.id));
  if (failure.reason === 'timeout')
    return error('BANK_TIMEOUT', `The bank did not answer ${operation.id} in time.`);
  return error('BANK_UNAVAILABLE', `The bank cannot be reached for ${operation.id}: ${failure.message}.`);
}

const detailsOf = ({ operation, trackId }: PreparedCall<Operation>): ErrorDetails =>
  trackId === null ? { operation: operation.id } : { operation: operation.id, trackId };

/** What a bank's text must not give away. Shorter values would blot out ordinary words. */
const secretsOf = (credentials: Credentials) =>
  Object.values(credentials).filter(
    (value): value is string => typeof value === 'string' && value.length >= 4,
  );

/** A failure and what caused it, by their codes: undici's messages name hosts and ports at most. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`;
}
