import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'graphql-yoga';
import type { Credentials } from '../bank/credentials.ts';
import { BankqlError } from '../bank/error.ts';
import type { RateLimiter } from './rate-limit.ts';
import { RefusedRequest, refusedForNow } from './refused-request.ts';

/** Finds out who calls. Errors: BankqlError; a RefusedRequest where another status than 400 says it better. */
export type Identify = (request: Request, incoming?: IncomingMessage) => Credentials | Promise<Credentials>;

/** What yoga is given besides the request, where node:http is what it is served by. */
export interface NodeContext {
  readonly req?: IncomingMessage;
  readonly res?: ServerResponse;
}

export interface CallerOptions {
  readonly identify: Identify;
  /** Is told who calls: the request's context is made of it. */
  readonly callers: WeakMap<Request, Credentials>;
  /** Null where nothing is limited. */
  readonly rateLimiter: RateLimiter | null;
  /** Is told of what should not happen, for the log. */
  readonly unexpected: (error: unknown) => void;
}

/**
 * Finds out who calls, once for each request and before its body is read, and refuses callers who have no REST call
 * left. Pages that need no caller (GraphiQL, /health, /ready) are answered by plugins before this one.
 */
export function useCaller(options: CallerOptions): Plugin<object, NodeContext> {
  const { identify, callers, rateLimiter, unexpected } = options;

  async function admit(request: Request, incoming?: IncomingMessage): Promise<void> {
    const credentials = await identify(request, incoming);
    callers.set(request, credentials);
    const seconds = (await rateLimiter?.secondsUntilNext(credentials)) ?? 0;
    if (seconds > 0)
      throw refusedForNow('RATE_LIMITED', 'Your REST calls are used up for now.', 429, seconds);
  }

  return {
    async onRequest({ request, serverContext, endResponse, fetchAPI }) {
      try {
        await admit(request, serverContext.req);
      } catch (error) {
        if (!(error instanceof BankqlError)) unexpected(error);
        const { message, extensions, http } = refusalOf(error);
        endResponse(
          new fetchAPI.Response(JSON.stringify({ errors: [{ message, extensions }] }), {
            status: http.status,
            headers: { 'Content-Type': 'application/json; charset=utf-8', ...http.headers },
          }),
        );
      }
    },
  };
}

function refusalOf(error: unknown): RefusedRequest {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof BankqlError) return new RefusedRequest(error.code, error.message, { status: 400 });
  return new RefusedRequest('INTERNAL', 'Something went wrong inside bankql.', { status: 500 });
}
