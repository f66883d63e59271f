import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';

interface Load {
  readonly port: number;
  /** The requests, which free connections send in turn. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  readonly seconds: number;
  /** The body that every answer must have, byte for byte. */
  readonly expected: Buffer;
}

/**
 * Prevents this process, which contains the load and the bank, from sleeping. On a virtual machine, waking a sleeping core
 * takes 10 to 20 µs of the sender's processor time. A contender that makes the load wait would pay this more often than one that
 * does not.
 * Shape: a function that lets the process sleep again, and returns the share of the time in which there was nothing to do.
 */
function stayAwake(): () => number {
  const started = performance.now();
  let last = started;
  let idleMs = 0;
  let isAwake = true;
  const turn = () => {
    if (!isAwake) return;
    const now = performance.now();
    // An iteration of the event loop that takes less than 10 µs had nothing to do.
    if (now - last < 0.01) idleMs += now - last;
    last = now;
    setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isAwake = false;
    return idleMs / (performance.now() - started);
  };
}

/**
 * Keeps every connection busy with one request at a time until the time is over, and lets the last ones end.
 * Shape:  `latencies` in milliseconds, sorted; `idle`: the share of the time in which the load and the bank had nothing to do.
 * Errors: the first answer that is not the expected one; a connection that ends.
 */
export async function fire({ port, requests, connections, seconds, expected }: Load) {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const latencies: number[] = [];
  const sleep = stayAwake();
  const started = performance.now();
  const end = started + seconds * 1000;
  let turn = 0;
  const next = () => (performance.now() < end ? (requests[turn++ % requests.length] ?? null) : null);
  try {
    await Promise.all(
      sockets.map((socket) =>
        keepBusy(socket, next, (body, ms) => {
          if (!body.equals(expected)) throw new Error(`another answer: ${body.toString('utf8', 0, 1000)}`);
          latencies.push(ms);
        }),
      ),
    );
    const took = (performance.now() - started) / 1000;
    const sorted = Float64Array.from(latencies).sort();
    return { requests: latencies.length, seconds: took, latencies: sorted, idle: sleep() };
  } finally {
    sleep();
    for (const socket of sockets) socket.destroy();
  }
}

/**
 * Sends a query once, as the first of the callers.
 * Shape: the body of the answer.
 * Errors: an answer that is not a 200.
 */
export async function askOnce(port: number, query: string): Promise<Buffer> {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json', ...credentialsOf(0) };
  const signal = AbortSignal.timeout(longestSilenceMs);
  const body = JSON.stringify({ query });
  const answer = await fetch(`http://127.0.0.1:${port}/graphql`, { method: 'POST', headers, body, signal });
  if (!answer.ok) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

const longestSilenceMs = 30_000;

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.setTimeout(longestSilenceMs, () => socket.destroy(new Error('no answer came')));
  await once(socket, 'connect');
  return socket;
}

/** Sends requests one after the other, until `next` returns none. */
async function keepBusy(
  socket: Socket,
  next: () => Buffer | null,
  onAnswer: (body: Buffer, ms: number) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const reader = new AnswerReader();
  let sent = 0;
  const send = () => {
    const request = next();
    if (request === null) return resolve();
    sent = performance.now();
    socket.write(request);
  };
  socket.on('data', (bytes) => {
    try {
      const body = reader.take(bytes);
      if (body === null) return;
      onAnswer(body, performance.now() - sent);
      send();
    } catch (error) {
      reject(error);
    }
  });
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the connection ended before its answer')));
  send();
  return promise;
}

/**
 * The number of callers. It is far above the number of connections, so that no caller has two requests in progress, and no
 * answer can be shared.
 */
const callers = 2048;

const credentialsOf = (caller: number) => ({
  'Ocp-Apim-Subscription-Key': `bench-key-${caller}`,
  'Auth-Provider-Name': 'bench',
  'Auth-ID': `caller-${caller}`,
});

/** The requests of a query, one for each caller, as bytes. */
export function requestsOf(query: string, port: number): readonly Buffer[] {
  const body = JSON.stringify({ query });
  return Array.from({ length: callers }, (_, caller) => {
    const headers = {
      Host: `127.0.0.1:${port}`,
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...credentialsOf(caller),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.from(`POST /graphql HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  });
}
