import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a bank goes away: its port is closed, a proxy says 503, or nothing is answered. */
export const outages = ['closed', '503', 'hang'] as const;
export type Outage = (typeof outages)[number];

export interface OutageBank extends AsyncDisposable {
  readonly url: string;
  /** Requests that arrived so far. */
  readonly arrived: () => number;
  goAway(how: Outage): Promise<void>;
  comeBack(): Promise<void>;
}

/** A bank of customers that can go away. */
export async function startOutageBank(): Promise<OutageBank> {
  let arrived = 0;
  let outage: Outage | null = null;
  let port = 0;
  const answer = (response: ServerResponse, status: number, body: string) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);

  const server = createServer((request, response) => {
    arrived++;
    request.resume();
    if (outage === 'hang') return;
    if (outage === '503') return void answer(response, 503, '{}');
    answer(response, 200, '{"email":"somebody@bank.example"}');
  });
  const listen = async () => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  await listen();

  return {
    url: `http://127.0.0.1:${port}`,
    arrived: () => arrived,
    async goAway(how) {
      outage = how;
      if (how === 'closed') await close();
    },
    async comeBack() {
      if (outage === 'closed') await listen();
      outage = null;
    },
    [Symbol.asyncDispose]: close,
  };
}
