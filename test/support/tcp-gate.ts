import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** An address in front of a bank at which nobody listens until it is opened. */
export interface TcpGate extends AsyncDisposable {
  readonly url: string;
  open(): Promise<void>;
}

/** A door to the server at this address, closed: whoever connects is refused. */
export async function closedTcpGate(to: string): Promise<TcpGate> {
  const { port: bankPort } = new URL(to);
  const sockets = new Set<Socket>();
  const server = createServer((inside) => {
    const outside = connect(Number(bankPort), '127.0.0.1');
    for (const socket of [inside, outside]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    inside.pipe(outside).pipe(inside);
  });
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  };
  const port = await listenOnLoopback(server);
  await close();
  return {
    url: `http://127.0.0.1:${port}`,
    open: async () => void (await listenOnLoopback(server, port)),
    [Symbol.asyncDispose]: close,
  };
}
