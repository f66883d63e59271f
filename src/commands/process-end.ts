import { currentRequestId } from '../http/request-scope.ts';
import { errorLocation } from '../telemetry/log.ts';

export { failCurrentRequest } from '../http/request-scope.ts';

/**
 * The last line of the log when the process has to end because of an error, as JSON. It contains neither the error's message nor
 * its properties, which Node would print: they may include a request's headers.
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

/** The reason of a rejected promise as an error. If the reason is not an Error, creates one whose stack shows the place. */
export function errorOfRejection(reason: unknown): Error {
  if (reason instanceof Error) return reason;
  const error = new Error('A promise was rejected with what is no error.');
  return Object.assign(error, { name: 'UnhandledPromiseRejection' });
}
