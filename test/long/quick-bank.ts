import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A bank of customers that answers at once. */
export async function startQuickBank() {
  let arrived = 0;
  const server = createServer((request, response) => {
    arrived++;
    request.resume();
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"email":"somebody@bank.example"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** Requests so far. */
    arrived: () => arrived,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
