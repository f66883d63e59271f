import { AsyncLocalStorage } from 'node:async_hooks';
import type { OperationActivity } from './operation-activity.ts';

/** What becomes of failures that nobody caught while a request was answered. None of it may throw. */
interface RequestFailures {
  /** Writes one to the log. */
  readonly log: (error: unknown) => void;
  /** Writes one to the log, and ends the request with it. */
  readonly fail: (error: unknown) => void;
  /** Whether its response is closed. */
  readonly isClosed: () => boolean;
}

/** What belongs to a request, wherever it is worked for. */
interface RequestScope extends RequestFailures {
  readonly requestId: string;
  /** Until whoever answers it is done, which may be after its client has left: a mutation is ended all the same. */
  isWorkedFor: boolean;
  /** Null where nobody watches it. */
  readonly activity: OperationActivity | null;
  /** What no line may tell, worked out when there is a line. */
  secrets: readonly (() => readonly string[])[];
}

const current = new AsyncLocalStorage<RequestScope>();
const none: RequestScope['secrets'] = [];

/**
 * Runs what answers a request: all that it starts, calls of the bank too, belongs to this request. Where it rejects the
 * request fails.
 */
export function runInRequestScope(
  requestId: string,
  failures: RequestFailures,
  run: () => Promise<void>,
  activity: OperationActivity | null = null,
): void {
  const scope: RequestScope = { requestId, ...failures, isWorkedFor: true, activity, secrets: none };
  const done = () => {
    scope.isWorkedFor = false;
  };
  current.run(scope, run).then(done, (error) => {
    done();
    failures.fail(error);
  });
}

/** The X-Request-Id of the request under way; undefined where there is none. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** What is known of the request under way; null where nobody watches it. */
export const currentActivity = (): OperationActivity | null => current.getStore()?.activity ?? null;

/**
 * Takes an error that nobody caught for the request to which it belongs. While that is worked for the error is logged, and
 * the operation gives its own answer, which alone knows what was written or paid; after that nothing else would answer.
 * Of a request that is over the error is logged too: whoever could leave such a rejection behind by leaving early must not
 * end the process for everybody.
 * Shape:  false where there is no request: then it is the process's failure.
 */
export function failCurrentRequest(error: unknown): boolean {
  const request = current.getStore();
  if (request === undefined) return false;
  if (request.isWorkedFor || request.isClosed()) request.log(error);
  else request.fail(error);
  return true;
}

/** Keeps these out of the request's lines in the log. */
export function redactFromLog(secrets: () => readonly string[]): void {
  const request = current.getStore();
  if (request !== undefined) request.secrets = [...request.secrets, secrets];
}

export const currentSecrets = (): readonly string[] =>
  (current.getStore()?.secrets ?? []).flatMap((secrets) => secrets());
