import type { LoggerOptions } from 'pino';
import { redact } from '../bank/errors.ts';
import { messageOf, shorten } from '../errors.ts';
import { currentActivity, currentRequestId, currentSecrets } from '../http/request-scope.ts';

/** The log levels of pino. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Nothing is added to a line that belongs to no request, or that already names its request. */
const nothing = {};

/**
 * The options of pino. Each line has the id of its request. An error is logged without its additional properties. Its message
 * is redacted: neither `secrets`, which are the operator's, nor the request's secrets appear in it.
 */
export function logOptions(level: string, secrets: readonly string[] = []): LoggerOptions {
  return {
    level,
    mixin(line) {
      if ('requestId' in line && 'traceId' in line) return nothing;
      const requestId = currentRequestId();
      if (requestId === undefined) return nothing;
      const traceId = currentActivity()?.traceId ?? null;
      return traceId === null ? { requestId } : { requestId, traceId };
    },
    // pino's own strategy would copy each line.
    mixinMergeStrategy: (line, added) => (added === nothing ? line : Object.assign(added, line)),
    serializers: { err: (error: unknown) => describeError(error, [...secrets, ...currentSecrets()]) },
  };
}

const maxFrames = 20;
const maxMessageLength = 300;
const maxCauseDepth = 3;

interface ErrorLocation {
  readonly type: string;
  readonly code?: string;
  readonly stack?: string;
}

/** The kind of an error and where it was thrown, without any text that may come from a request. */
export function errorLocation(error: unknown): ErrorLocation {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error ? word(error.code) : null;
  // The message may contain lines that look like stack frames, so only the lines after it are read.
  const [message, stack] = [String(error.message), String(error.stack)];
  const frames = stack
    .slice(Math.max(0, stack.indexOf(message)) + message.length)
    .split('\n')
    .filter((line) => /^ {4}at .*(:\d+:\d+\)?|\))$/.test(line))
    .slice(0, maxFrames);
  return {
    type: word(error.name) ?? 'Error',
    ...(code === null ? {} : { code }),
    stack: frames.map((line) => line.trim()).join('\n'),
  };
}

/** The value if it can be the name or the code of an error; null otherwise, because it may be a text of the request. */
const word = (value: unknown): string | null =>
  typeof value === 'string' && /^[\w.-]{1,60}$/.test(value) ? value : null;

interface DescribedError extends ErrorLocation {
  readonly message: string;
  readonly cause?: DescribedError;
}

function describeError(error: unknown, secrets: readonly string[], depth = 0): DescribedError {
  const cause = error instanceof Error && depth < maxCauseDepth ? error.cause : undefined;
  return {
    ...errorLocation(error),
    message: withoutSecrets(messageOf(error), secrets),
    ...(cause === undefined ? {} : { cause: describeError(cause, secrets, depth + 1) }),
  };
}

/** More of the text is redacted than is shown, because redaction makes the text shorter. */
const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  shorten(redact(text, secrets, 20 * maxMessageLength), maxMessageLength);
