import { AsyncLocalStorage } from 'node:async_hooks';

/** What the log knows of the request that something is done for. */
interface CurrentRequest {
  readonly requestId: string;
  /** What no line may tell, worked out when there is a line. */
  readonly secrets: (() => readonly string[])[];
}

const current = new AsyncLocalStorage<CurrentRequest>();

/** Runs what answers a request: all that it starts, calls of the bank too, belongs to this request. */
export const duringRequest = <T>(requestId: string, run: () => T): T =>
  current.run({ requestId, secrets: [] }, run);

/** The X-Request-Id of the request under way; undefined where there is none. */
export const currentRequestId = (): string | undefined => current.getStore()?.requestId;

/** Keeps these out of the request's lines in the log. */
export const hideFromLog = (secrets: () => readonly string[]): void =>
  void current.getStore()?.secrets.push(secrets);

export const currentSecrets = (): readonly string[] =>
  (current.getStore()?.secrets ?? []).flatMap((secrets) => secrets());
