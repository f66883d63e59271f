import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * Listens on loopback, by default on a free port.
 * Shape: the port.
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Closes a server with its connections. */
export async function closeNow(server: HttpServer): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** A port of loopback on which nobody listens. */
export async function freePort(): Promise<number> {
  await using server = createServer();
  return await listenOnLoopback(server);
}
