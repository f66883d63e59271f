import type { Logger } from 'pino';
import { shownError } from '../engine/errors.ts';
import { type ErrorCode, errorCodes } from '../errors.ts';
import type { Head } from './handlers.ts';
import { checkRequest, type HttpPolicyOptions, type HttpRefusal, isEndpoint } from './request.ts';
import type { OperationObserver } from './request-scope.ts';

export interface DoorOptions {
  readonly policy: HttpPolicyOptions;
  readonly logger: Logger;
  /** Called with the status when a rule of HTTP refuses a request. It must not throw. */
  readonly onHttpRefusal?: ((status: HttpRefusal) => void) | undefined;
  readonly observer?: OperationObserver | undefined;
}

/** The whole answer to a request that is not served. */
export interface Refused {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string;
}

interface Entry {
  readonly requestId: string;
  /** Headers that the answer bears, names and values in turn; those of a refusal are in it. */
  readonly headers: readonly string[];
  /** Null if the request is let in. */
  readonly refused: Refused | null;
}

export type Door = ReturnType<typeof createDoor>;

const maxLoggedOrigins = 20;

/** What HTTP itself refuses, whichever way a request comes. */
export function createDoor({ policy, logger, onHttpRefusal, observer }: DoorOptions) {
  const loggedOrigins = new Set<string>();
  /** Once for each origin, for as many as a log can bear. */
  const logForeignOrigin = (origin: string): void => {
    if (loggedOrigins.size >= maxLoggedOrigins || loggedOrigins.has(origin)) return;
    loggedOrigins.add(origin);
    logger.warn(
      { origin: origin.slice(0, 255) },
      'pages of this origin may not call: CORS_ORIGINS does not list it',
    );
  };

  return {
    isOperation: ({ url = '' }: Head): boolean => isEndpoint(url),

    check(request: Head): Entry {
      const { headers, requestId, refusal } = checkRequest(request, policy);
      if (refusal?.status === 403) {
        logForeignOrigin(request.headers.origin ?? '');
        return { headers, requestId, refused: refusedWith(403, headers, refusal.message, 'FORBIDDEN') };
      }
      if (request.method === 'OPTIONS' && refusal === null)
        return { headers, requestId, refused: { status: 204, headers, body: '' } };
      if (refusal === null) return { headers, requestId, refused: null };
      onHttpRefusal?.(refusal.status);
      const refused = refusedWith(refusal.status, headers, refusal.message, 'BAD_USER_INPUT');
      const activity = observer?.begin(requestId, request) ?? null;
      activity?.refused(refusal.status, 'BAD_USER_INPUT', Buffer.byteLength(refused.body));
      if (activity !== null) observer?.end(activity);
      return { headers, requestId, refused };
    },

    /** The answer to a request whose work failed unexpectedly. */
    failure: (headers: readonly string[]): Refused =>
      refusedWith(500, headers, 'Something went wrong inside bankql.', 'INTERNAL'),
  };
}

function refusedWith(status: number, headers: readonly string[], message: string, code: ErrorCode): Refused {
  const extensions = { code, retryable: errorCodes[code].retryable };
  return {
    status,
    headers: [...headers, 'Content-Type', 'application/json; charset=utf-8'],
    body: JSON.stringify({ errors: [shownError({ message, extensions })] }),
  };
}
