import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';
import { stayAwake } from './awake.ts';

export interface Load {
  readonly port: number;
  /** Sent in turn, by whichever connection is free. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  readonly seconds: number;
  /** The body that every answer has to have, byte for byte. */
  readonly expected: Buffer;
}

export interface Fired {
  readonly requests: number;
  readonly seconds: number;
  /** In milliseconds, sorted. */
  readonly latencies: Float64Array;
  /** How much of the time the load and the bank had nothing to do. */
  readonly idle: number;
}

/**
 * Keeps every connection busy with one request at a time until the time is over, and lets the last ones end.
 * Errors: the first answer that is not the expected one; a connection that ends.
 */
export async function fire({ port, requests, connections, seconds, expected }: Load): Promise<Fired> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latencies: number[] = [];
  const sleep = stayAwake();
  const started = performance.now();
  const end = started + seconds * 1000;
  let turn = 0;
  const nextRequest = () => requests[turn++ % requests.length] ?? Buffer.alloc(0);
  try {
    await Promise.all(
      sockets.map((socket) =>
        keepBusy(socket, {
          nextRequest,
          mayGoOn: () => performance.now() < end,
          onAnswer: (body, ms) => {
            if (!body.equals(expected)) throw new Error(`another answer: ${body.toString('utf8', 0, 1000)}`);
            latencies.push(ms);
          },
        }),
      ),
    );
    const took = (performance.now() - started) / 1000;
    const idle = sleep();
    return {
      requests: latencies.length,
      seconds: took,
      latencies: Float64Array.from(latencies).sort(),
      idle,
    };
  } finally {
    sleep();
    for (const socket of sockets) socket.destroy();
  }
}

/** Sends one request on a connection of its own; the body of the answer, and how long it took in milliseconds. */
export async function askOnce(
  port: number,
  request: Buffer,
): Promise<{ readonly body: Buffer; readonly ms: number }> {
  const socket = await open(port);
  let answered: { body: Buffer; ms: number } = { body: Buffer.alloc(0), ms: 0 };
  try {
    await keepBusy(socket, {
      nextRequest: () => request,
      mayGoOn: () => false,
      onAnswer: (body, ms) => {
        answered = { body, ms };
      },
    });
    return answered;
  } finally {
    socket.destroy();
  }
}

const longestSilenceMs = 30_000;

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.setTimeout(longestSilenceMs, () => socket.destroy(new Error('no answer came')));
  await once(socket, 'connect');
  return socket;
}

interface Turns {
  readonly nextRequest: () => Buffer;
  readonly mayGoOn: () => boolean;
  readonly onAnswer: (body: Buffer, ms: number) => void;
}

function keepBusy(socket: Socket, { nextRequest, mayGoOn, onAnswer }: Turns): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader();
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(nextRequest());
    };
    socket.on('data', (bytes) => {
      try {
        const body = reader.take(bytes);
        if (body === null) return;
        onAnswer(body, performance.now() - sent);
        if (mayGoOn()) send();
        else resolve();
      } catch (error) {
        reject(error);
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection ended before its answer')));
    send();
  });
}
