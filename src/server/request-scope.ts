import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { OperationActivity } from '../engine/operation-activity.ts';

/** Watches requests for GraphQL. None of it may throw. */
export interface OperationObserver {
  /** The activity of a request that has arrived; null if nobody observes it. */
  begin(requestId: string, request: Pick<IncomingMessage, 'headers' | 'method'>): OperationActivity | null;
  /** It is over: it was answered, or its client has left and nobody works for it any more. */
  end(activity: OperationActivity): void;
}

/** A request, and what becomes of failures that nobody caught while it was answered. None of it may throw. */
interface RequestScope {
  readonly requestId: string;
  /** Null if nobody watches it. */
  readonly activity?: OperationActivity | null;
  /** Give the texts that no line of the log may show, when there is a line. */
  secrets?: readonly (() => readonly string[])[];
  /** Until whoever answers it is done, which may be after its client has left: a mutation is ended all the same. */
  isWorkedFor?: boolean;
  /** Writes one to the log. */
  readonly log: (error: unknown) => void;
  /** Writes one to the log, and ends the request with it, unless it has its answer. */
  readonly fail: (error: unknown) => void;
  /** Called when its work has ended, before `fail` if it failed. */
  readonly onEnd?: (isFailure: boolean) => void;
}

const current = new AsyncLocalStorage<RequestScope>();

/**
 * Runs what answers a request: all that it starts, calls of the bank too, belongs to this request. If it rejects, the
 * request fails. Resolves when it has ended; never rejects.
 */
export function runInRequestScope(scope: RequestScope, run: () => Promise<void>): Promise<void> {
  scope.isWorkedFor = true;
  return current.run(scope, run).then(
    () => {
      scope.isWorkedFor = false;
      scope.onEnd?.(false);
    },
    (error) => {
      scope.isWorkedFor = false;
      scope.onEnd?.(true);
      scope.fail(error);
    },
  );
}

/** The X-Request-Id of the request under way; undefined if there is no request. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** The activity of the request under way; null if nobody watches it. */
export const currentActivity = (): OperationActivity | null => current.getStore()?.activity ?? null;

/**
 * Assigns an error that nobody caught to the request to which it belongs. While the request is worked for, the error is
 * logged, and the operation gives its own answer, since only that knows what was written or paid; after that nothing else
 * would answer. If the request is over, the error is logged too: a client that could leave such a rejection behind by
 * leaving early must not end the process for everybody.
 * Shape:  false if there is no request: then it is the process's failure.
 */
export function failCurrentRequest(error: unknown): boolean {
  const request = current.getStore();
  if (request === undefined) return false;
  if (request.isWorkedFor) request.log(error);
  else request.fail(error);
  return true;
}

/** Keeps these out of the request's lines in the log. */
export function redactFromLog(secrets: () => readonly string[]): void {
  const request = current.getStore();
  if (request !== undefined) request.secrets = [...(request.secrets ?? []), secrets];
}

/** The secrets of the request under way. */
export const currentSecrets = (): readonly string[] =>
  current.getStore()?.secrets?.flatMap((secrets) => secrets()) ?? [];
