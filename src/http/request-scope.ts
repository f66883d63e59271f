import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { OperationActivity } from '../graphql/operation-activity.ts';

/** Observes requests for GraphQL. Its functions must not throw. */
export interface OperationObserver {
  /** The activity of a request that has arrived; null if nobody observes it. */
  begin(requestId: string, request: Pick<IncomingMessage, 'headers' | 'method'>): OperationActivity | null;
  /** Called when the request is over: it was answered, or its client has disconnected and its work has ended. */
  end(activity: OperationActivity): void;
}

/** A request, and the handling of errors that nobody caught while it was answered. Its functions must not throw. */
export interface RequestScope {
  readonly requestId: string;
  /** The activity of the request; null if nobody observes it. */
  readonly activity?: OperationActivity | null;
  /** Functions that return texts to redact. They are called only when a line is logged. */
  secrets?: readonly (() => readonly string[])[];
  /** True until the request's work has ended. A mutation continues even after its client has disconnected. */
  isWorkedFor?: boolean;
  /** Logs a failure. */
  log(error: unknown): void;
  /** Logs a failure, and answers the request with it, unless the request has an answer. */
  fail(error: unknown): void;
  /** Called when the request's work has ended; if the work failed, before `fail`. */
  onEnd?(hasFailed: boolean): void;
}

const current = new AsyncLocalStorage<RequestScope>();

/**
 * Runs the work that answers a request. Everything that the work starts, including calls of the bank, belongs to this request. If
 * the work rejects, the request fails. Resolves when the work has ended; never rejects.
 */
export async function runInRequestScope<Scope extends RequestScope>(
  scope: Scope,
  work: (scope: Scope) => Promise<void>,
): Promise<void> {
  scope.isWorkedFor = true;
  try {
    await current.run(scope, work, scope);
    scope.isWorkedFor = false;
    scope.onEnd?.(false);
  } catch (error) {
    scope.isWorkedFor = false;
    scope.onEnd?.(true);
    scope.fail(error);
  }
}

/** The X-Request-Id of the current request; undefined if there is no request. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** The activity of the current request; null if nobody observes it. */
export const currentActivity = (): OperationActivity | null => current.getStore()?.activity ?? null;

/**
 * Assigns an error that nobody caught to the request to which it belongs. While the request's work runs, the error is only
 * logged: the operation gives the answer, because only the operation knows what was written or paid. After the work, the request
 * is answered with the error. If the request is over, the error is only logged: a client must not be able to end the process by
 * disconnecting early.
 * Shape:  false if there is no request; the error is then a failure of the process.
 */
export function failCurrentRequest(error: unknown): boolean {
  const request = current.getStore();
  if (request === undefined) return false;
  if (request.isWorkedFor) request.log(error);
  else request.fail(error);
  return true;
}

/** Redacts these texts in the request's log lines. */
export function redactFromLog(secrets: () => readonly string[]): void {
  const request = current.getStore();
  if (request !== undefined) request.secrets = [...(request.secrets ?? []), secrets];
}

/** The secrets of the current request. */
export const currentSecrets = (): readonly string[] =>
  current.getStore()?.secrets?.flatMap((secrets) => secrets()) ?? [];
