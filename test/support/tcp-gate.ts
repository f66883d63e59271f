import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** One address in front of servers of loopback. A connection ends when either of its sides does. */
interface TcpGate extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Ends all connections. New connections lead to this port. */
  leadTo(port: number): void;
  /** Loses the server's next answer: ends its connection instead of passing it on. */
  loseNextAnswer(): void;
  /** Whether new connections are ended at once. */
  refuse(all: boolean): void;
  /** Ends all connections and refuses new ones, until the gate is opened again. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function openTcpGate(to: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let target = to;
  let loses = false;
  let refuses = false;
  const server = createServer((inside) => {
    if (refuses) return void inside.on('error', () => {}).destroy();
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
        other.destroySoon();
      });
    }
    outside.on('data', () => {
      if (!loses) return;
      loses = false;
      inside.destroy();
      outside.destroy();
    });
    inside.pipe(outside).pipe(inside);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const port = await listenOnLoopback(server);
  const gate: TcpGate = {
    port,
    url: `http://127.0.0.1:${port}`,
    leadTo(next) {
      target = next;
      cut();
    },
    loseNextAnswer() {
      loses = true;
    },
    refuse(all) {
      refuses = all;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
    open: async () => void (await listenOnLoopback(server, port)),
    [Symbol.asyncDispose]: () => gate.close(),
  };
  return gate;
}

/** A closed gate to the server at this address, which refuses connections. */
export async function closedTcpGate(to: string): Promise<TcpGate> {
  const gate = await openTcpGate(Number(new URL(to).port));
  await gate.close();
  return gate;
}
