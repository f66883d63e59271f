import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { Ledger, overheadBytes } from '../../src/ledger.ts';
import {
  Connection,
  type ConnectionAwareResponse,
  listen,
  refusalsAtOnce,
} from '../../src/server/connection.ts';
import { ledgerLimits } from '../support/ledger-limits.ts';
import { answerTo, connectTo } from '../support/requests.ts';
import { countIterations, turns, until, untilFound } from '../support/waits.ts';

/** What a connection is told of its end, and when it ends. */

interface Answer {
  readonly connection: string | undefined;
  /** Whether it came over a connection that was used before. */
  readonly isReused: boolean;
}

/** One client, which keeps its connection; a failure is its code. */
function createClient(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path: string) =>
      new Promise<Answer | string>((resolve) => {
        const asked = request(`${url}${path}`, { agent }, (response) => {
          response.resume();
          response.on('end', () =>
            resolve({ connection: response.headers.connection, isReused: asked.reusedSocket }),
          );
        });
        asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        asked.end();
      }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** A server that answers at once, except what asks it to wait for `release`. */
async function startServer() {
  const waiting = Promise.withResolvers<ConnectionAwareResponse>();
  const listening = await listen('127.0.0.1', 0, ({ url }, response) => {
    if (url === '/wait') waiting.resolve(response);
    else response.writeHead(200, ['Content-Length', '2']).end('ok');
  });
  const release = async () => (await waiting.promise).writeHead(200, ['Content-Length', '2']).end('ok');
  return { listening, hasArrived: waiting.promise, release };
}

const kept = { connection: 'keep-alive', isReused: true };
const ended = { connection: 'close', isReused: true };

test('an answer that was under way when the drain began says that its connection ends', async () => {
  const { listening, hasArrived, release } = await startServer();
  using client = createClient(listening.url);
  expect(await client.ask('/')).toEqual({ ...kept, isReused: false });
  const underWay = client.ask('/wait');
  await hasArrived;
  listening.drain();
  await release();
  expect(await underWay).toEqual(ended);
  // It still listens: who comes anew is answered, once a connection.
  expect(await client.ask('/')).toEqual({ connection: 'close', isReused: false });
  await listening.close();
  expect(await client.ask('/')).toBe('ECONNREFUSED');
});

test('a kept connection that is idle may be used once more where it is given the time, and nobody new is taken', async () => {
  const { listening } = await startServer();
  using client = createClient(listening.url);
  using late = createClient(listening.url);
  await client.ask('/');
  expect(await client.ask('/')).toEqual(kept);
  const closed = listening.close(60_000);
  expect(await late.ask('/')).toBe('ECONNREFUSED');
  expect(await client.ask('/')).toEqual(ended);
  await closed;
});

test('without that time idle connections end at once', async () => {
  const { listening } = await startServer();
  using client = createClient(listening.url);
  await client.ask('/');
  await listening.close();
  expect(await client.ask('/')).toMatch(/ECONNREFUSED|ECONNRESET/);
});

test('an answer ends outside of its request’s context, which the timer of the idle connection would retain', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const listening = await listen('127.0.0.1', 0, (_request, response) =>
    context.run('request', () => {
      seen.push(context.getStore());
      response.once('finish', () => seen.push(context.getStore()));
      response.writeHead(200, ['Content-Length', '2']).end('ok');
    }),
  );
  using client = createClient(listening.url);
  expect(await client.ask('/')).toEqual({ ...kept, isReused: false });
  expect(seen).toEqual(['request', undefined]);
  await listening.close();
});

/** A server that refuses every request for now, and a clock that ticks when it is told to. */
async function startRefusing(limits: Parameters<typeof ledgerLimits>[0]) {
  const shed: string[] = [];
  const ledger = new Ledger(ledgerLimits({ ...limits, requests: 0 }), (why) => shed.push(why));
  const asked: string[] = [];
  const refusals = new Set<unknown>();
  let closed = 0;
  let tick = () => {};
  const clock = {
    now: () => 0,
    every(_ms: number, then: () => void) {
      tick = then;
      return () => {};
    },
  };
  const listening = await listen(
    '127.0.0.1',
    0,
    ({ url = '' }, response) => {
      asked.push(url);
      response.once('close', () => closed++);
      response.identify({ name: url.split('?')[1] ?? '', group: '' });
      try {
        response.admit();
      } catch (error) {
        refusals.add(error);
      }
      response.writeHead(503, ['Content-Length', '0']).end();
    },
    { ledger, clock },
  );
  return {
    listening,
    ledger,
    shed,
    asked,
    refusals,
    /** How many answers are sent. */
    closed: () => closed,
    tick: () => tick(),
    [Symbol.asyncDispose]: async () => {
      ledger.close();
      await listening.close();
    },
  };
}

test('connections that are refused again and again are read in turn, a hundred at a time', async () => {
  await using server = await startRefusing({});
  const clients = Array.from({ length: 2 * refusalsAtOnce + 50 }, () => createClient(server.listening.url));
  await Promise.all(clients.map(({ ask }) => ask('/first')));
  expect(server.asked).toHaveLength(clients.length);
  await expect.poll(server.closed).toBe(clients.length);
  // One error for all of them: each would cost more than the rest of a refusal.
  expect(server.refusals.size).toBe(1);
  // A hundred were refused within the time; the others rest.
  const again = clients.map(({ ask }) => ask('/again'));
  const count = () => server.asked.filter((url) => url === '/again').length;
  await expect.poll(count).toBe(refusalsAtOnce);
  for (const expected of [2 * refusalsAtOnce, clients.length]) {
    // A connection that rests has been written to: what is not read now is read only when its turn comes.
    await turns(50);
    expect(count()).toBe(expected === clients.length ? 2 * refusalsAtOnce : refusalsAtOnce);
    server.tick();
    await expect.poll(count).toBe(expected);
  }
  server.tick();
  await Promise.all(again);
  for (const client of clients) client[Symbol.dispose]();
});

test('a connection whose next request is refused in the same iteration as an accepted one ends rests until its turn', async () => {
  const calls: string[] = [];
  const note = (what: string) => () => void calls.push(what);
  const socket = { destroyed: false, writable: true, pause: note('pause'), resume: note('resume') };
  const resting = { refused: () => true, has: () => true, delete: () => true, first: () => undefined };
  const server = { ledger: {} as never, resting, listener() {}, isDraining: false, endsIdle: false };
  const connection = new Connection(socket as never, server);
  const response = (isRefused: boolean) => {
    const stub = { isRefused, req: { complete: true }, headersSent: true, belongTo() {}, wait() {} };
    const received = stub as unknown as ConnectionAwareResponse;
    connection.receive(received);
    return { end: () => connection.end(received) };
  };
  // Of two requests the second one waits: from then on a connection goes on in the next iteration.
  const [accepted, waiting] = [response(false), response(false)];
  resting.has = () => false;
  accepted.end();
  await turns(1);
  waiting.end();
  resting.has = () => true;
  response(true).end();
  await turns(2);
  expect(calls).toEqual(['pause']);
});

test.each([
  ['2001:db8:0:0', '2001:db8::1:2:3:4', '2001:db8::5:6:7:8', '2001:db8::1'],
  ['2001:db8:1:0', '2001:db8:1::1', '2001:db8:1::2:3:4', '2001:db8:1:0:1:2:3:4'],
  ['2001:db8:1:2', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::7'],
  ['0:0:0:0', '::1'],
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
])('the addresses of the network %s are one peer, however they are abbreviated', (network, ...addresses) => {
  for (const remoteAddress of addresses)
    expect(new Connection({ remoteAddress } as never, {} as never).peer).toBe(`peer ${network}`);
});

test('if too many clients are connected, the oldest idle connection of the caller with most is closed', async () => {
  await using server = await startRefusing({ sockets: 5 });
  const greedy = Array.from({ length: 4 }, () => createClient(server.listening.url));
  using modest = createClient(server.listening.url);
  await modest.ask('/?modest');
  for (const { ask } of greedy) await ask('/?greedy');
  using newcomer = createClient(server.listening.url);
  expect(await newcomer.ask('/?new')).toEqual({ ...kept, isReused: false });
  expect(server.shed.filter((why) => why === 'sockets')).toHaveLength(1);
  expect(server.ledger.sockets).toBe(5);
  expect(await modest.ask('/?modest')).toEqual(kept);
  expect(await greedy[1]?.ask('/?greedy')).toEqual(kept);
  for (const client of greedy) client[Symbol.dispose]();
});

/** A server for so many connections. A path says whose request it is, `/group/name/`, and what becomes of it: idle, arriving or open. */
async function startCrowded(most: number) {
  const ledger = new Ledger(ledgerLimits({ sockets: most }));
  const arrived: string[] = [];
  const listening = await listen(
    '127.0.0.1',
    0,
    ({ url = '' }, response) => {
      const [, group = '', name = '', state = ''] = url.split('/');
      response.identify({ name, group });
      if (state === 'arriving') response.awaitMore(0);
      if (state === 'idle') response.writeHead(200, ['Content-Length', '0']).end();
      arrived.push(url);
    },
    { ledger },
  );
  const closed: string[] = [];
  const sockets: Socket[] = [];
  return {
    closed,
    async open(path: string) {
      const socket = connectTo(listening.url);
      sockets.push(socket);
      socket.resume();
      socket.once('close', () => closed.push(path));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await until(() => arrived.includes(path));
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      ledger.close();
      await listening.close();
    },
  };
}

test('if the caller with most connections has no idle one, its oldest is closed that waits for its client, and none that bankql works for', async () => {
  await using server = await startCrowded(5);
  const { closed, open } = server;
  for (const path of ['/peer/greedy/open', '/peer/greedy/arriving/1', '/peer/greedy/arriving/2'])
    await open(path);
  for (const path of ['/peer/modest/idle/1', '/peer/modest/idle/2', '/peer/first/idle']) await open(path);
  await until(() => closed.length === 1);
  await open('/peer/second/idle');
  await until(() => closed.length === 2);
  expect(closed).toEqual(['/peer/greedy/arriving/1', '/peer/greedy/arriving/2']);
  // The greedy caller has one left, which is not idle.
  await open('/peer/third/idle');
  await until(() => closed.length === 3);
  expect(closed[2]).toBe('/peer/modest/idle/1');
});

test('if too many clients are connected, a peer with many names gives up connections, and not a caller with fewer', async () => {
  await using server = await startCrowded(5);
  const { closed, open } = server;
  // The caller with most connections is not in the group with most.
  for (const path of ['/own/victim/idle/1', '/own/victim/idle/2']) await open(path);
  for (const name of ['1', '2', '3', '4']) await open(`/peer/invented-${name}/arriving`);
  await until(() => closed.length === 1);
  expect(closed).toEqual(['/peer/invented-1/arriving']);
});

test('a sixty-fourth of all connections is closed at once, so that clients that keep connecting cost little', async () => {
  await using server = await startRefusing({ sockets: 96 });
  const greedy = Array.from({ length: 96 }, () => createClient(server.listening.url));
  for (const [index, { ask }] of greedy.entries()) {
    // So that none of them rests.
    if (index % refusalsAtOnce === 0) server.tick();
    await ask('/?greedy');
  }
  server.tick();
  using newcomer = createClient(server.listening.url);
  expect(await newcomer.ask('/?new')).toEqual({ ...kept, isReused: false });
  expect(server.shed.filter((why) => why === 'sockets')).toHaveLength(2);
  expect(server.ledger.sockets).toBe(95);
  for (const client of greedy) client[Symbol.dispose]();
});

/** A client that sends these requests at once; `release` answers the next one. */
async function startPipelined(paths: readonly string[], ledger?: Ledger, headers = '') {
  const asked: string[] = [];
  const waiting: [string, ConnectionAwareResponse][] = [];
  const receive = ({ url = '' }: IncomingMessage, response: ConnectionAwareResponse) => {
    asked.push(url);
    waiting.push([url, response]);
  };
  const listening = await listen('127.0.0.1', 0, receive, ledger && { ledger });
  const socket = connectTo(listening.url);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`).join(''));
  return {
    listening,
    socket,
    asked,
    async release(change: (response: ConnectionAwareResponse) => void = () => {}) {
      const [path, response] = await untilFound(() => waiting.shift());
      change(response);
      response.writeHead(200, ['Content-Length', '2']).end(path);
    },
    /** The path of each answer, and what it says of the connection. */
    answers: () =>
      [...received.matchAll(/Connection: (\S+)[\s\S]*?\r\n\r\n(\/.)/g)].map(
        ([, says, path]) => `${path} ${says}`,
      ),
  };
}

test.each([
  ['', ''],
  [', also if they expect what nobody knows', 'Expect: x\r\n'],
])('requests of one connection are handled one at a time, in their order%s', async (_, headers) => {
  const ledger = new Ledger(ledgerLimits({}));
  const { socket, asked, release, answers, listening } = await startPipelined(
    ['/a', '/b', '/c'],
    ledger,
    headers,
  );
  // Two wait behind the first one.
  await until(() => ledger.arriving === 2 * overheadBytes);
  expect(asked).toEqual(['/a']);
  for (const count of [1, 2, 3]) {
    await until(() => asked.length === count);
    await release();
    await until(() => answers().length === count);
  }
  expect(asked).toEqual(['/a', '/b', '/c']);
  expect(answers()).toEqual(['/a keep-alive', '/b keep-alive', '/c keep-alive']);
  expect(ledger.arriving).toBe(0);
  ledger.close();
  socket.destroy();
  await listening.close();
});

test('requests of one packet that are answered at once do not hold up other events', async () => {
  using iterations = countIterations();
  const begun: number[] = [];
  const listening = await listen('127.0.0.1', 0, (_request, response) => {
    begun.push(iterations.count);
    response.writeHead(204).end();
  });
  const socket = connectTo(listening.url);
  socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20));
  await until(() => begun.length === 20);
  expect(new Set(begun).size).toBe(20);
  socket.destroy();
  await listening.close();
});

test('a connection with more waiting requests than the process has room for is closed, and the others are not looked at', async () => {
  let refused = 0;
  const ledger = new Ledger(ledgerLimits({ arriving: 8 * overheadBytes }), () => {
    refused++;
  });
  const { stackTraceLimit } = Error;
  const stacks: (string | undefined)[] = [];
  const listening = await listen(
    '127.0.0.1',
    0,
    (request) => void request.on('error', ({ stack }) => stacks.push(stack)),
    { ledger },
  );
  const socket = connectTo(listening.url);
  const closed = once(socket, 'close');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50));
  await closed;
  await until(() => ledger.arriving === 0 && ledger.sockets === 0);
  expect(refused).toBe(1);
  // Node makes an error for each of the 50, without a stack. Those that are made later have one again.
  expect(stacks).toEqual(['Error: aborted']);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  ledger.close();
  await listening.close();
});

test('what cannot be read behind a request that is under way is not answered in its place', async () => {
  const { listening, hasArrived } = await startServer();
  expect(await answerTo(listening.url, 'GARBAGE\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  const answered = answerTo(listening.url, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n');
  await hasArrived;
  expect(await answered).toBe('');
  const body = 'POST /wait HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nGARBAGE\r\n';
  expect(await answerTo(listening.url, body)).toMatch(/^HTTP\/1.1 400 /);
  await listening.close();
});

test.each([
  ['headers, however short they are', 100_000, 'a:\r\n'.repeat(900)],
  ['body', 50_000, 'Content-Length: 50000\r\n'],
  ['body of unknown length', 50_000, 'Transfer-Encoding: chunked\r\n'],
])('a waiting request counts with its %s', async (_what, bytes, headers) => {
  const ledger = new Ledger(ledgerLimits({ arriving: 2 * bytes }));
  const arrived = Promise.withResolvers<void>();
  const listening = await listen('127.0.0.1', 0, () => arrived.resolve(), { ledger });
  const socket = connectTo(listening.url);
  const head = 'POST / HTTP/1.1\r\nHost: x\r\n';
  socket.write(`${head}\r\n`);
  await arrived.promise;
  socket.write(`${head}${headers}\r\n`);
  await until(() => ledger.arriving > 0);
  expect(ledger.arriving).toBeGreaterThan(bytes);
  socket.destroy();
  ledger.close();
  await listening.close();
});

test('requests that wait when the drain begins are answered, and the last answer says that the connection ends', async () => {
  const { socket, answers, asked, release, listening } = await startPipelined(['/a', '/b', '/c']);
  await until(() => asked.length === 1);
  listening.drain();
  for (let n = 0; n < 3; n++) await release();
  await once(socket, 'close');
  expect(answers()).toEqual(['/a keep-alive', '/b keep-alive', '/c close']);
  expect(asked).toEqual(['/a', '/b', '/c']);
  await listening.close();
});

test('no request is handled after an answer that says that the connection ends', async () => {
  const { socket, answers, asked, release, listening } = await startPipelined(['/a', '/b']);
  await release((response) => {
    response.shouldKeepAlive = false;
  });
  await once(socket, 'close');
  expect(answers()).toEqual(['/a close']);
  expect(asked).toEqual(['/a']);
  await listening.close();
});

test.each([
  ['headers', 'POST / HTTP/1.1\r\nHost: localhost\r\n'],
  ['body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{'],
])('a client whose %s do not arrive in time is cut off', async (_, begun) => {
  const listening = await listen('127.0.0.1', 0, () => {}, { slowestRequestMs: 1 });
  expect(await answerTo(listening.url, begun)).toMatch(/^HTTP\/1\.1 408 /);
  await listening.close();
});
