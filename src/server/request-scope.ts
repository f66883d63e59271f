import { AsyncLocalStorage } from 'node:async_hooks';

/** What belongs to a request, wherever it is worked for. */
interface RequestScope {
  readonly requestId: string;
  /** Ends it with a failure that nobody caught; must not throw. */
  readonly fail: (error: unknown) => void;
  /** What no line may tell, worked out when there is a line. */
  secrets: readonly (() => readonly string[])[];
}

const current = new AsyncLocalStorage<RequestScope>();
const none: RequestScope['secrets'] = [];

/** Runs what answers a request: all that it starts, calls of the bank too, belongs to this request. */
export const runInRequestScope = <T>(requestId: string, fail: RequestScope['fail'], run: () => T): T =>
  current.run({ requestId, fail, secrets: none }, run);

/** The X-Request-Id of the request under way; undefined where there is none. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** Fails the request under way with an error that nobody caught. False where there is none. */
export function failCurrentRequest(error: unknown): boolean {
  const request = current.getStore();
  request?.fail(error);
  return request !== undefined;
}

/** Keeps these out of the request's lines in the log. */
export function redactFromLog(secrets: () => readonly string[]): void {
  const request = current.getStore();
  if (request !== undefined) request.secrets = [...request.secrets, secrets];
}

export const currentSecrets = (): readonly string[] =>
  (current.getStore()?.secrets ?? []).flatMap((secrets) => secrets());
