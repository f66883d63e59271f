import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { closeNow, listenOnLoopback } from './loopback.ts';

/** A tiny HTTP proxy, which writes down where it was to lead. */
export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** Such as "CONNECT bank.example:443". */
  readonly asked: string[];
  readonly authorizations: (string | undefined)[];
  /** What it answers; 200 until told otherwise. */
  status: number;
}

export async function startConnectProxy(): Promise<ConnectProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const note = ({ method, url, headers }: IncomingMessage) => {
    asked.push(`${method} ${url}`);
    authorizations.push(headers['proxy-authorization']);
  };
  const server = createServer(async (request, response) => {
    note(request);
    const answer = await fetch(request.url ?? '');
    response.writeHead(answer.status).end(await answer.text());
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    note(request);
    client.on('error', () => client.destroy());
    if (proxy.status !== 200) return void client.end(`HTTP/1.1 ${proxy.status} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${request.url}`);
    const bank = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      bank.pipe(client).pipe(bank);
    });
    sockets.add(client).add(bank);
    bank.on('error', () => client.destroy());
    client.on('close', () => bank.destroy());
  });
  const port = await listenOnLoopback(server);
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${port}`,
    asked,
    authorizations,
    status: 200,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await closeNow(server);
    },
  };
  return proxy;
}
