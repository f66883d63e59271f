import type { Logger } from 'pino';
import { type ErrorCode, errorCodes } from '../errors.ts';
import { shownError } from '../graphql/errors.ts';
import type { OperationActivity } from '../graphql/operation-activity.ts';
import type { RequestHolder } from '../graphql/request-holder.ts';
import { ClientDisconnected } from './body.ts';
import type { AnswerRequest, BodyReader } from './handlers.ts';
import { type Head, isEndpoint } from './head.ts';
import { type OperationObserver, runInRequestScope } from './request-scope.ts';
import type { Answer, WholeAnswer } from './respond.ts';
import { checkRequest, type HttpPolicyOptions, type HttpRefusal } from './rules.ts';

interface DoorOptions {
  readonly policy: HttpPolicyOptions;
  readonly logger: Logger;
  /** Called with the status when a rule of HTTP refuses a request. It must not throw. */
  readonly onHttpRefusal?: ((status: HttpRefusal) => void) | undefined;
  /** Watches every request for GraphQL, also those that are not accepted. */
  readonly observer?: OperationObserver | undefined;
}

/** The other end of a request: a response of node:http, or the promise of a Fetch response. */
export interface Client {
  /** Whether the client waits for its answer, has a part of it, has all of it, or left before. */
  readonly state: 'waiting' | 'begun' | 'answered' | 'left';
  /** Sends an answer; `common` are headers of every answer. Resolves when all is sent or the client has left. */
  send(answer: Answer, common: readonly string[]): void | Promise<void>;
  /**
   * Sends an answer without reading the request's body. An answer that has begun already is cut off instead, so that the client
   * sees that it is incomplete.
   */
  refuse(answer: WholeAnswer): void;
}

export type Door = ReturnType<typeof createDoor>;

const maxLoggedOrigins = 20;
const over = Promise.resolve();

/** Every request passes here, from node:http or Fetch: the rules of HTTP may refuse it; otherwise `answer` answers it. */
export function createDoor(options: DoorOptions, answer: AnswerRequest) {
  const { policy, logger, onHttpRefusal, observer } = options;
  const loggedOrigins = new Set<string>();
  /** Logs each origin once, up to a maximum number of origins. */
  const logForeignOrigin = (origin: string): void => {
    if (loggedOrigins.size >= maxLoggedOrigins || loggedOrigins.has(origin)) return;
    loggedOrigins.add(origin);
    logger.warn(
      { origin: origin.slice(0, 255) },
      'pages of this origin may not call: CORS_ORIGINS does not list it',
    );
  };
  const log = (error: unknown) => logger.error({ err: error }, 'unexpected error');

  /** Answers a request that HTTP refuses, or a preflight. Returns whether it is one. */
  function refuse(head: Head, client: Client, checked: ReturnType<typeof checkRequest>): boolean {
    const { headers, requestId, refusal } = checked;
    if (refusal === null) {
      if (head.method !== 'OPTIONS') return false;
      client.refuse({ status: 204, headers, body: '' });
      return true;
    }
    const { status, message } = refusal;
    if (status === 403) {
      logForeignOrigin(head.headers.origin ?? '');
      client.refuse(refusedWith(403, headers, message, 'FORBIDDEN'));
      return true;
    }
    onHttpRefusal?.(status);
    const refused = refusedWith(status, headers, message, 'BAD_USER_INPUT');
    const activity = observer?.begin(requestId, head) ?? null;
    activity?.refused(status, 'BAD_USER_INPUT', Buffer.byteLength(refused.body));
    if (activity !== null) observer?.end(activity);
    client.refuse(refused);
    return true;
  }

  function ended(activity: OperationActivity, { state }: Client, hasFailed: boolean): void {
    if (hasFailed && state === 'waiting') activity.refused(500, 'INTERNAL', 0);
    else if (hasFailed && state !== 'left') activity.brokenOff('INTERNAL');
    const isAbandoned = state === 'left' || (state === 'waiting' && !hasFailed);
    if (isAbandoned) activity.abandoned();
    // Requests for pages and for unknown paths are not operations.
    if (isAbandoned || activity.status !== null) observer?.end(activity);
  }

  const failure = (headers: readonly string[]) =>
    refusedWith(500, headers, 'Something went wrong inside bankql.', 'INTERNAL');

  function serve(head: Head, read: BodyReader, holder: RequestHolder, client: Client): Promise<void> {
    const checked = checkRequest(head, policy);
    if (refuse(head, client, checked)) return over;
    const { headers, requestId } = checked;
    const activity = isEndpoint(head.url ?? '') ? (observer?.begin(requestId, head) ?? null) : null;
    return runInRequestScope(
      {
        requestId,
        activity,
        log,
        fail(error) {
          log(error);
          client.refuse(failure(headers));
        },
        ...(activity !== null && {
          onEnd: (hasFailed: boolean) => ended(activity, client, hasFailed),
        }),
      },
      async () => {
        try {
          const answered = await answer(head, read, holder, activity);
          // Only the reader of a body in chunks knows that it is too long.
          if (answered.status === 413) onHttpRefusal?.(413);
          const sending = client.send(answered, headers);
          if (sending !== undefined) await sending;
        } catch (error) {
          if (!(error instanceof ClientDisconnected)) throw error;
        }
      },
    );
  }

  /** Serves a request. Resolves when nobody works for it any more. Never throws, never rejects. */
  return (head: Head, read: BodyReader, holder: RequestHolder, client: Client): Promise<void> => {
    try {
      return serve(head, read, holder, client);
    } catch (error) {
      log(error);
      client.refuse(failure([]));
      return over;
    }
  };
}

function refusedWith(
  status: number,
  headers: readonly string[],
  message: string,
  code: ErrorCode,
): WholeAnswer & { readonly body: string } {
  const extensions = { code, retryable: errorCodes[code].retryable };
  return {
    status,
    headers: [...headers, 'Content-Type', 'application/json; charset=utf-8'],
    body: JSON.stringify({ errors: [shownError({ message, extensions })] }),
  };
}
