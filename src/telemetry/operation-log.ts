import type { Logger } from 'pino';
import type { OperationActivity } from '../server/request-scope.ts';

/** A client may choose a name of any length. */
const maxNameLength = 100;

/**
 * One line of the log for each request for GraphQL, at info. It holds nothing of the document's text, the variables or the
 * answer: the operation's name, or the document's hash where it has none; how it ended, and what it took.
 */
export function logOperation(logger: Logger, activity: OperationActivity, caller: string | null): void {
  const { requestId, traceId, operation, outcome, codes, status, restCalls, cached, joined, stale, bytes } =
    activity;
  logger.info(
    {
      requestId,
      // Left out where it is undefined.
      traceId: traceId ?? undefined,
      ...(operation === null ? {} : nameOf(operation)),
      outcome,
      ...(codes.length === 0 ? {} : { codes: [...new Set(codes)] }),
      ...(status === null ? {} : { status }),
      calls: restCalls,
      cached: cached + stale,
      shared: joined,
      ms: Math.round(activity.milliseconds * 10) / 10,
      bytes,
      ...(caller === null ? {} : { caller }),
    },
    'operation',
  );
}

const nameOf = ({ kind, name, documentHash }: NonNullable<OperationActivity['operation']>) =>
  name === null ? { document: documentHash, kind } : { operation: name.slice(0, maxNameLength), kind };
