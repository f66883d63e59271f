import { currentRequestId } from '../server/current-request.ts';
import { placeOf } from '../server/log.ts';

/**
 * The last line of a process that cannot go on, as JSON like the others. The error's message is left out with all that
 * hangs on it: Node would print them, and a request's headers may be among them.
 */
export function lastWords(error: unknown): string {
  const requestId = currentRequestId();
  return JSON.stringify({
    level: 60,
    time: Date.now(),
    ...(requestId === undefined ? {} : { requestId }),
    err: placeOf(error),
    msg: 'bankql cannot go on',
  });
}
