import { currentRequestId } from '../server/request-scope.ts';
import { errorLocation } from '../telemetry/log.ts';

export { failCurrentRequest } from '../server/request-scope.ts';

/**
 * The last line of a process that cannot go on, as JSON like the others. The error's message is left out with all that
 * hangs on it: Node would print them, and a request's headers may be among them.
 */
export function formatFatalError(error: unknown): string {
  const requestId = currentRequestId();
  return JSON.stringify({
    level: 60,
    time: Date.now(),
    ...(requestId === undefined ? {} : { requestId }),
    err: errorLocation(error),
    msg: 'bankql cannot go on',
  });
}

/** Why a promise was rejected, as an error that says where it was seen where it is none itself. */
export const rejectionOf = (reason: unknown): Error =>
  reason instanceof Error ? reason : new UnhandledPromiseRejection();

class UnhandledPromiseRejection extends Error {
  override readonly name = 'UnhandledPromiseRejection';

  constructor() {
    super('A promise was rejected with what is no error.');
  }
}
