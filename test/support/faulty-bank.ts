import { createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback.ts';

/** The bank's behaviour on a connection after a whole request has arrived. */
export type Act = (socket: Socket) => void;

/** A bank that violates HTTP byte by byte, which an HTTP server would not allow. */
export interface FaultyBank extends AsyncDisposable {
  readonly url: string;
  /** The requests that arrived completely, as Latin-1 text. */
  readonly requests: string[];
  /** The number of connections so far, and the number of open ones. */
  readonly connections: () => number;
  readonly open: () => number;
  /** Sets the behaviour from now on: for each request, or for each connection before a byte is read. */
  behave(act: Act, at?: 'request' | 'connection'): void;
  /** Refuses connections; `listen` accepts them again, at the same port. */
  close(): Promise<void>;
  listen(): Promise<void>;
}

/** `drops`: whether the bank resets the nth connection before it reads anything. */
export async function startFaultyBank(
  act: Act = hang,
  drops: (connection: number) => boolean = () => false,
): Promise<FaultyBank> {
  const requests: string[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  let current = { act, at: 'request' };
  let port = 0;

  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setNoDelay(true);
    if (drops(connections)) return reset(socket);
    if (current.at === 'connection') return current.act(socket);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? 0);
      if (head === -1 || received.length < head + 4 + length) return;
      requests.push(received);
      received = '';
      current.act(socket);
    });
  });

  const bank: FaultyBank = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    requests,
    connections: () => connections,
    open: () => open.size,
    behave(next, at = 'request') {
      current = { act: next, at };
    },
    async close() {
      for (const socket of open) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
    async listen() {
      port = await listenOnLoopback(server, port);
    },
    [Symbol.asyncDispose]: () => bank.close(),
  };
  await bank.listen();
  return bank;
}

/** Never answers. */
export const hang: Act = () => {};

/** Resets the connection. */
export const reset: Act = (socket) => void socket.resetAndDestroy();

/** Behaves in these ways in turn, one for each request, and then repeats the last one. */
export function inTurn(...acts: Act[]): Act {
  const left = [...acts];
  return (socket) => (left.length > 1 ? left.shift() : left[0])?.(socket);
}

/** Delays a behaviour. */
export const later =
  (milliseconds: number, act: Act): Act =>
  (socket) => {
    setTimeout(() => act(socket), milliseconds);
  };

/** Writes bytes and leaves the connection open. */
export const write =
  (...bytes: (string | Buffer)[]): Act =>
  (socket) => {
    for (const part of bytes) socket.write(part);
  };

/** Writes bytes, and ends the connection when they have arrived: by a reset, or in an orderly way. */
export const writeThen =
  (end: 'reset' | 'end', bytes: string): Act =>
  (socket) => {
    socket.write(bytes);
    setTimeout(() => (end === 'reset' ? socket.resetAndDestroy() : socket.end()), 30);
  };

/** Writes the first bytes, and then repeats the other bytes as long as the client reads. */
export const repeat =
  (first: string, bytes: string, everyMs: number): Act =>
  (socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(bytes), everyMs);
    socket.on('close', () => clearInterval(timer));
  };

/** Writes a text byte by byte. */
export const drip =
  (text: string, everyMs: number): Act =>
  (socket) => {
    const bytes = [...text];
    const timer = setInterval(() => socket.write(bytes.shift() ?? ''), everyMs);
    socket.on('close', () => clearInterval(timer));
  };

/** The bytes of an answer with its length. It is JSON unless the headers have another type. */
export function answer(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const lines = Object.entries({
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`),
    Buffer.from(body),
  ]);
}

/** Answers in correct HTTP. */
export const reply = (...parts: Parameters<typeof answer>): Act => write(answer(...parts));

/**
 * Chooses a behaviour by the request's first line: `acts` maps texts to behaviours, and the first text that the line
 * contains is used. If the line contains none of them, the bank never answers.
 */
export const byLine =
  (bank: FaultyBank, acts: Readonly<Record<string, Act>>): Act =>
  (socket) => {
    const line = lineOf(bank.requests.at(-1) ?? '');
    const [, act = hang] = Object.entries(acts).find(([text]) => line.includes(text)) ?? [];
    act(socket);
  };

/** A request's first line. */
export const lineOf = (request: string) => request.slice(0, request.indexOf('\r\n'));
