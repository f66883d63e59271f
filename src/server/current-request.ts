import { AsyncLocalStorage } from 'node:async_hooks';

/** What the log knows of the request that something is done for. */
interface CurrentRequest {
  readonly requestId: string;
  /** What no line may tell, worked out when there is a line. */
  secrets: readonly (() => readonly string[])[];
}

const current = new AsyncLocalStorage<CurrentRequest>();
const none: CurrentRequest['secrets'] = [];

/** Runs what answers a request: all that it starts, calls of the bank too, belongs to this request. */
export const duringRequest = <T>(requestId: string, run: () => T): T =>
  current.run({ requestId, secrets: none }, run);

/** The X-Request-Id of the request under way; undefined where there is none. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** Keeps these out of the request's lines in the log. */
export function hideFromLog(secrets: () => readonly string[]): void {
  const request = current.getStore();
  if (request !== undefined) request.secrets = [...request.secrets, secrets];
}

export const currentSecrets = (): readonly string[] =>
  (current.getStore()?.secrets ?? []).flatMap((secrets) => secrets());
