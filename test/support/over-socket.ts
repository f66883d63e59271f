import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A listener for node:http as a Fetch handler: each request goes over a socket, whatever host its URL names. */
export function overSocket(listener: RequestListener) {
  let opening: Promise<Server> | null = null;

  async function open(): Promise<Server> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  return {
    async fetch(request: Request): Promise<Response> {
      opening ??= open();
      const { port } = (await opening).address() as AddressInfo;
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(`http://127.0.0.1:${port}${pathname}${search}`, request));
    },
    async close(): Promise<void> {
      const server = await opening;
      server?.closeAllConnections();
      server?.close();
    },
  };
}
