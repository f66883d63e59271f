import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** A way to a server on loopback that loses what a test wants it to lose. */
export interface LossyGate {
  readonly port: number;
  /** The next answer of the server ends its connection, in the place of arriving. */
  loseNextAnswer(): void;
  /** Whether new connections are ended at once. */
  refuse(all: boolean): void;
  close(): Promise<void>;
}

export async function openLossyGate(serverPort: number): Promise<LossyGate> {
  const sockets = new Set<Socket>();
  let loses = false;
  let refuses = false;
  const gate = createServer((inside) => {
    inside.on('error', () => {});
    if (refuses) {
      inside.destroy();
      return;
    }
    const outside = connect(serverPort, '127.0.0.1');
    outside.on('error', () => {});
    for (const socket of [inside, outside]) sockets.add(socket);
    inside.pipe(outside);
    outside.on('data', (data) => {
      if (!loses) {
        inside.write(data);
        return;
      }
      loses = false;
      inside.destroy();
      outside.destroy();
    });
    inside.on('close', () => outside.destroy());
    outside.on('close', () => inside.destroy());
  });
  return {
    port: await listenOnLoopback(gate),
    loseNextAnswer() {
      loses = true;
    },
    refuse(all) {
      refuses = all;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      gate.close();
      await once(gate, 'close');
    },
  };
}
