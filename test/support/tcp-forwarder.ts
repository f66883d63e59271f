import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** One address that leads to one of several servers, as HAProxy or a cluster's service does. */
export interface TcpForwarder extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections; the next ones lead to this port. */
  leadTo(port: number): void;
}

/** Forwards connections to a port of loopback. A connection ends when either of its sides does. */
export async function startTcpForwarder(to: number): Promise<TcpForwarder> {
  let target = to;
  const sockets = new Set<Socket>();
  const server = createServer((inside) => {
    const outside = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    inside.pipe(outside).pipe(inside);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: await listenOnLoopback(server),
    leadTo(port) {
      target = port;
      cut();
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
