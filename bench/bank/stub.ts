import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type PreparedAnswer, prepareAnswers } from './answers.ts';
import { serialMark } from './records.ts';

/**
 * The bank of the bench. It runs in the process that creates the load, which is kept from sleeping (load/fire.ts). It speaks
 * HTTP/1.1 over node:net, because node:http would use as much time for a small answer as the contender that requests it. It reads
 * only the head of a request; its answers are buffers made at the start. A call without credentials is refused and counted.
 */

const answers = prepareAnswers();
const empty = (status: string) => Buffer.from(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
const forbidden = empty('403 Forbidden');
const notFound = empty('404 Not Found');

const calls = new Map<string, number>();
let latencyMs = 0;
let serial = 0;

const key = /\r\nocp-apim-subscription-key: *[^\s]/i;
const provider = /\r\nauth-provider-name: *[^\s]/i;
const authId = /\r\nauth-id: *[^\s]/i;

function isAllowed(head: string, auth: PreparedAnswer['auth']): boolean {
  return key.test(head) && (auth === 'none' || (provider.test(head) && authId.test(head)));
}

/** No two answers have the same bytes, so that no contender can reuse a parsed answer. */
function write(socket: Socket, answer: PreparedAnswer): void {
  socket.cork();
  socket.write(answer.beforeSerial);
  socket.write(String(++serial).padStart(serialMark.length, '0'), 'latin1');
  socket.write(answer.afterSerial);
  socket.uncork();
}

const count = (what: string) => calls.set(what, (calls.get(what) ?? 0) + 1);

function answer(socket: Socket, head: string): void {
  const from = head.indexOf(' ') + 1;
  const target = head.slice(from, head.indexOf(' ', from));
  const prepared = answers.get(target);
  const isRefused = prepared !== undefined && !isAllowed(head, prepared.auth);
  count(prepared === undefined ? 'unknown path' : isRefused ? 'refused' : prepared.operation);
  if (prepared === undefined) socket.write(notFound);
  else if (isRefused) socket.write(forbidden);
  else if (latencyMs === 0) write(socket, prepared);
  else setTimeout(write, latencyMs, socket, prepared);
}

function serve(socket: Socket): void {
  let pending = '';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    pending += text;
    for (let end = pending.indexOf('\r\n\r\n'); end !== -1; end = pending.indexOf('\r\n\r\n')) {
      const head = pending.slice(0, end);
      answer(socket, head);
      pending = pending.slice(end + 4);
    }
  });
  // A contender that is ended closes its connections during calls.
  socket.on('error', () => socket.destroy());
}

/** The bench's control of the stub. */
export interface Bank extends AsyncDisposable {
  readonly url: string;
  /** Sets the counts to zero. From now on, the bank waits this number of milliseconds before each answer (default: 0). */
  reset(latencyMs?: number): void;
  /** The number of calls of each operation since `reset`. Calls without an answer are counted as `refused` and `unknown path`. */
  calls(): Readonly<Record<string, number>>;
}

/** Opens the bank in this process, on a free port. There can be only one. */
export async function openBank(): Promise<Bank> {
  const server = createServer({ noDelay: true }, serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    reset(wait = 0) {
      latencyMs = wait;
      calls.clear();
    },
    calls: () => Object.fromEntries(calls),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
