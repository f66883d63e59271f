import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Compression, compressed, isCompressible } from './compression.ts';
import { forCaches, isCacheable } from './http-cache.ts';
import { type GraphQLHttpResponse, writeResponse } from './http-response.ts';
import { currentActivity } from './request-scope.ts';
import type { LimitPending } from './serialize-result.ts';

export interface SendOptions {
  /** `public` if left out. */
  readonly compression?: Compression | undefined;
  /** How long HTTP caches may keep public data, in seconds; 0 if left out. */
  readonly publicMaxAgeSeconds?: number | undefined;
  readonly limitPending: LimitPending;
}

/**
 * Sends a complete answer as its request allows: compressed, or as 304 if the client has it already. `common` are the
 * headers of every answer, names and values in turn. Null if it was sent at once, as nearly all are.
 */
export type SendAnswer = (
  request: IncomingMessage,
  response: ServerResponse,
  answer: GraphQLHttpResponse,
  common: readonly string[],
) => Promise<void> | null;

export function createAnswerSender({
  compression = 'public',
  publicMaxAgeSeconds = 0,
  limitPending,
}: SendOptions): SendAnswer {
  return (request, response, made, common) => {
    const { headers } = request;
    let answer = made;
    const isKept = request.method === 'GET' && isCacheable(answer);
    if (isKept) answer = forCaches(answer, headers['if-none-match'], publicMaxAgeSeconds);
    const write = (sent: GraphQLHttpResponse) => {
      // Only now is it known how many bytes wait for the client.
      const limited = limitPending(sent, response);
      currentActivity()?.answered(limited);
      // The client may have left during the compression.
      if (response.destroyed) return;
      const bearing = isKept && limited === sent ? without('Cache-Control', common) : common;
      writeResponse(response, limited, bearing);
    };
    if (isCompressible(answer, compression)) {
      answer = { ...answer, headers: [...answer.headers, 'Vary', 'Accept-Encoding'] };
      const smaller = compressed(answer, headers['accept-encoding']);
      if (smaller !== null) return smaller.then(write);
    }
    write(answer);
    return null;
  };
}

const without = (name: string, headers: readonly string[]) =>
  headers.filter((_text, at) => headers[at - (at % 2)] !== name);
