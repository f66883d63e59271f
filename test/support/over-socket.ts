import type { IncomingMessage } from 'node:http';
import { type ConnectionAwareResponse, type Listening, listen } from '../../src/server/connection.ts';

/** A listener as a Fetch handler: each request goes over a socket, whatever host its URL names. */
export function overSocket(
  listener: (request: IncomingMessage, response: ConnectionAwareResponse) => unknown,
) {
  let opening: Promise<Listening> | null = null;
  return {
    async fetch(request: Request): Promise<Response> {
      // A busy machine is no slow client.
      opening ??= listen('127.0.0.1', 0, listener, { slowestRequestMs: 600_000 });
      const { url } = await opening;
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(`${url}${pathname}${search}`, request));
    },
    async close(): Promise<void> {
      await (await opening)?.close();
    },
  };
}
