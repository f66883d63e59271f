import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { platform } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ConnectionAwareResponse, peerOf } from '../../src/http/connection.ts';
import { listen } from '../../src/http/listen.ts';
import { Capacity } from '../../src/load/capacity.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { clock } from '../support/monotonic-clock.ts';
import { answerTo, connectTo } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { turns, until, untilFound } from '../support/waits.ts';

/** How answers announce that their connection ends, and when connections end. */

interface Answer {
  readonly connection: string | undefined;
  /** Whether the answer came over a connection that was used before. */
  readonly isReused: boolean;
}

/** A client that keeps its connection. A failure is reported as its code. */
function createClient(url: string, localAddress?: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(localAddress && { localAddress }) });
  return {
    ask: (path: string) =>
      new Promise<Answer | string>((resolve) => {
        const asked = request(`${url}${path}`, { agent }, (response) => {
          response.resume();
          response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
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

/** A server that answers at once, except requests that wait for `release`. */
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

test('an answer in progress when the drain begins announces the end of its connection', async () => {
  const { listening, hasArrived, release } = await startServer();
  using client = createClient(listening.url);
  expect(await client.ask('/')).toEqual({ ...kept, isReused: false });
  const underWay = client.ask('/wait');
  await hasArrived;
  listening.drain();
  await release();
  expect(await underWay).toEqual(ended);
  // The server still listens, but every answer closes its connection.
  expect(await client.ask('/')).toEqual({ connection: 'close', isReused: false });
  await listening.close();
  expect(await client.ask('/')).toBe('ECONNREFUSED');
});

test('an idle connection may be used once more during the delay of a stop, and no new connection is accepted', async () => {
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

test('idle connections end at once if a stop has no delay', async () => {
  const { listening } = await startServer();
  using client = createClient(listening.url);
  await client.ask('/');
  await listening.close();
  expect(await client.ask('/')).toMatch(/ECONNREFUSED|ECONNRESET/);
});

test('a stop waits for a request that takes long, and for 30 s for a client that sends or reads slowly', async () => {
  const [begun, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const waiting = Promise.withResolvers<ConnectionAwareResponse>();
  const listening = await listen('127.0.0.1', 0, ({ url }, response) => {
    if (url === '/wait') return waiting.resolve(response);
    if (url === '/send') return arrived.resolve();
    response.writeHead(200, ['Content-Length', '2']).write('o');
    begun.resolve();
  });
  using client = createClient(listening.url);
  using slow = createClient(listening.url);
  const [underWay, taken] = [client.ask('/wait'), slow.ask('/')];
  const response = await waiting.promise;
  await begun.promise;
  const sending = connectTo(listening.url);
  sending.write('POST /send HTTP/1.1\r\nHost: b\r\nContent-Length: 9\r\n\r\nx');
  await arrived.promise;
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const closed = listening.close();
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  await once(
    sending.on('error', () => {}),
    'close',
  );
  expect(await taken).toMatch(/ECONNRESET|aborted/);
  response.writeHead(200, ['Content-Length', '2']).end('ok');
  expect(await underWay).toEqual({ connection: 'close', isReused: false });
  await closed;
});

test('an answer ends outside of the async context of its request, so that the idle timer does not retain it', async () => {
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

test.each([
  ['a client that repeats has to connect again with its third refusal in a second', false, 499, 'close'],
  ['a client that waits keeps its connection', false, 500, 'keep-alive'],
  ['the connection of a trusted proxy stays', true, 0, 'keep-alive'],
] as const)('a connection stays usable after a refusal: %s', async (_, isBehindProxy, pauseMs, third) => {
  let time = 0;
  clock.now = () => time;
  // In this test, nothing waits for a timer.
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
  onTestFinished(() => {
    clock.now = clock.real;
    vi.useRealTimers();
  });
  const capacity = new Capacity(capacityLimits({ requests: 0 }));
  const errors = new Set<unknown>();
  const refuse = (_request: IncomingMessage, response: ConnectionAwareResponse) => {
    try {
      response.holder?.admit();
    } catch (error) {
      errors.add(error);
    }
    response.writeHead(503, ['Content-Length', '0']).end();
  };
  const listening = await listen('127.0.0.1', 0, refuse, { capacity, isBehindProxy });
  using client = createClient(listening.url);
  const said: string[] = [];
  for (let refusal = 0; refusal < 6; refusal++) {
    const answer = await client.ask('/');
    said.push(typeof answer === 'string' ? answer : `${answer.connection} ${answer.isReused}`);
    time += pauseMs;
  }
  const again = third === 'close' ? 'keep-alive false' : 'keep-alive true';
  const kept = 'keep-alive true';
  expect(said).toEqual(['keep-alive false', kept, `${third} true`, again, kept, `${third} true`]);
  // All refusals share one error object, because creating one costs more than the rest of a refusal.
  expect(errors.size).toBe(1);
  vi.useRealTimers();
  await listening.close();
});

test.each([
  ['2001:db8:0:0', '2001:db8::1:2:3:4', '2001:db8::5:6:7:8', '2001:db8::1'],
  ['2001:db8:1:0', '2001:db8:1::1', '2001:db8:1::2:3:4', '2001:db8:1:0:1:2:3:4'],
  ['2001:db8:1:2', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::7'],
  ['0:0:0:0', '::1'],
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
])('all addresses of the network %s count as one remote address', (network, ...addresses) => {
  for (const remoteAddress of addresses) expect(peerOf(remoteAddress)).toBe(`peer ${network}`);
});

test('a client above the connection limit is closed, and the others stay connected', async () => {
  const shed: string[] = [];
  const capacity = new Capacity(capacityLimits({ sockets: 2 }), (why) => shed.push(why));
  const answer = (_request: IncomingMessage, response: ConnectionAwareResponse) =>
    response.writeHead(200, ['Content-Length', '0']).end();
  const listening = await listen('127.0.0.1', 0, answer, { capacity });
  using first = createClient(listening.url);
  using second = createClient(listening.url);
  using third = createClient(listening.url);
  await first.ask('/');
  await second.ask('/');
  expect(await third.ask('/')).toMatch(/ECONNRESET|socket hang up/);
  expect(await first.ask('/')).toEqual(kept);
  expect([shed, capacity.sockets]).toEqual([['sockets'], 2]);
  second[Symbol.dispose]();
  await until(() => capacity.sockets === 1);
  expect(await third.ask('/')).toEqual({ ...kept, isReused: false });
  await listening.close();
});

test('the log names the address of closed connections once a minute', async () => {
  await using fixture = await startServerFixture({ capacity: capacityLimits({ sockets: 1 }) });
  const first = connectTo(fixture.url);
  await once(first, 'connect');
  for (const socket of [connectTo(fixture.url), connectTo(fixture.url)]) await once(socket, 'close');
  const logged = fixture.log.filter((line) => line.includes('a connection was closed'));
  expect(logged.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, address: '127.0.0.1', connections: 2 },
  ]);
  first.destroy();
});

test.runIf(platform() === 'linux')(
  'one address may have all connections, and loses idle ones when other addresses need them',
  async () => {
    const closed: unknown[] = [];
    const capacity = new Capacity(capacityLimits({ sockets: 4 }));
    const waiting = Promise.withResolvers<ConnectionAwareResponse>();
    const answer = ({ url }: IncomingMessage, response: ConnectionAwareResponse) => {
      if (url === '/wait') waiting.resolve(response);
      else response.writeHead(200, ['Content-Length', '0']).end();
    };
    const onSurplus = (surplus: unknown) => void closed.push(surplus);
    const listening = await listen('127.0.0.1', 0, answer, { capacity, onSurplus });
    const clients = (count: number, localAddress?: string) =>
      Array.from({ length: count }, () => createClient(listening.url, localAddress));
    const greedy = clients(5);
    const others = clients(3, '127.0.0.2');
    const underWay = greedy[0]?.ask('/wait');
    await waiting.promise;
    for (const client of greedy.slice(1, 4)) await client.ask('/');
    expect(capacity.sockets).toBe(4);
    expect(await greedy[4]?.ask('/')).toMatch(/ECONNRESET|socket hang up/);
    // Two connections are closed in favour of other addresses. After that, no address has more than half.
    for (const client of others.slice(0, 2))
      expect(await client.ask('/')).toEqual({ connection: 'keep-alive', isReused: false });
    expect(await others[2]?.ask('/')).toMatch(/ECONNRESET|socket hang up/);
    for (const client of others.slice(0, 2)) expect(await client.ask('/')).toEqual(kept);
    expect(await greedy[3]?.ask('/')).toEqual(kept);
    (await waiting.promise).writeHead(200, ['Content-Length', '0']).end();
    expect(await underWay).toEqual({ connection: 'keep-alive', isReused: false });
    expect(closed).toEqual([
      { address: '127.0.0.1', connections: 5 },
      { address: '127.0.0.1', connections: 4 },
      { address: '127.0.0.1', connections: 3 },
      { address: '127.0.0.2', connections: 3 },
    ]);
    for (const client of [...greedy, ...others]) client[Symbol.dispose]();
    await until(() => capacity.sockets === 0);
    await listening.close();
  },
);

/** A client that sends these requests at once. `release` answers the next request. */
async function startPipelined(paths: readonly string[], headers = '') {
  const asked: string[] = [];
  const waiting: [string, ConnectionAwareResponse][] = [];
  const receive = ({ url = '' }: IncomingMessage, response: ConnectionAwareResponse) => {
    asked.push(url);
    waiting.push([url, response]);
  };
  const listening = await listen('127.0.0.1', 0, receive);
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
    /** Answers the first waiting request, or the last one. */
    async release(
      which: 'first' | 'last' = 'first',
      change: (response: ConnectionAwareResponse) => void = () => {},
    ) {
      const [path, response] = await untilFound(() => (which === 'first' ? waiting.shift() : waiting.pop()));
      change(response);
      response.writeHead(200, ['Content-Length', '2']).end(path);
    },
    /** The path of each answer, and its `Connection` header. */
    answers: () =>
      [...received.matchAll(/Connection: (\S+)[\s\S]*?\r\n\r\n(\/.)/g)].map(
        ([, says, path]) => `${path} ${says}`,
      ),
  };
}

test.each([
  ['', ''],
  [', also with an unknown Expect header', 'Expect: x\r\n'],
])('requests of one connection are handled at once and answered in their order%s', async (_, headers) => {
  const { socket, asked, release, answers, listening } = await startPipelined(['/a', '/b', '/c'], headers);
  await until(() => asked.length === 3);
  await release('last');
  await release('last');
  await turns(20);
  expect(answers()).toEqual([]);
  await release();
  await until(() => answers().length === 3);
  expect(answers()).toEqual(['/a keep-alive', '/b keep-alive', '/c keep-alive']);
  socket.destroy();
  await listening.close();
});

test('the signals of all requests of a client are aborted when it leaves', async () => {
  const closed: string[] = [];
  let arrived = 0;
  const listening = await listen('127.0.0.1', 0, ({ url = '' }, response) => {
    arrived++;
    if (url === '/b') response.end('early');
    response.holder?.signal.addEventListener('abort', () => closed.push(`${url} left`));
    response.on('close', () => closed.push(url));
  });
  const socket = connectTo(listening.url);
  socket.write(['/a', '/b', '/c'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  await until(() => arrived === 3);
  socket.destroy();
  await until(() => closed.length >= 6);
  expect(closed.toSorted()).toEqual(['/a', '/a left', '/b', '/b left', '/c', '/c left']);
  await listening.close();
});

test('an unreadable request gets no answer in place of an earlier request in progress', async () => {
  const { listening, hasArrived } = await startServer();
  expect(await answerTo(listening.url, 'GARBAGE\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  const answered = answerTo(listening.url, 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\nGARBAGE\r\n\r\n');
  await hasArrived;
  expect(await answered).toBe('');
  const body = 'POST /wait HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nGARBAGE\r\n';
  expect(await answerTo(listening.url, body)).toMatch(/^HTTP\/1.1 400 /);
  await listening.close();
});

test('an arriving request counts with the memory of its headers', async () => {
  const capacity = new Capacity(capacityLimits({}));
  const awaitMore = (_request: IncomingMessage, response: ConnectionAwareResponse) =>
    response.holder?.awaitMore(50);
  const listening = await listen('127.0.0.1', 0, awaitMore, { capacity });
  const socket = connectTo(listening.url);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n${'a:\r\n'.repeat(900)}\r\n`);
  await until(() => capacity.arriving > 0);
  expect(capacity.arriving).toBeGreaterThan(100_000);
  socket.destroy();
  await until(() => capacity.arriving === 0);
  await listening.close();
});

test.each(['first', 'last'] as const)(
  'requests in progress when the drain begins are answered, and the last answer announces the end (%s one first)',
  async (which) => {
    const { socket, answers, asked, release, listening } = await startPipelined(['/a', '/b', '/c']);
    await until(() => asked.length === 3);
    listening.drain();
    for (let n = 0; n < 3; n++) await release(which);
    await once(socket, 'close');
    expect(answers()).toEqual(['/a keep-alive', '/b keep-alive', '/c close']);
    await listening.close();
  },
);

const ending = (response: ConnectionAwareResponse) => {
  response.shouldKeepAlive = false;
};

test('no answer ends the connection while a later request is in progress', async () => {
  const { socket, answers, asked, release, listening } = await startPipelined(['/a', '/b']);
  await until(() => asked.length === 2);
  await release('first', ending);
  await release('first', ending);
  await once(socket, 'close');
  expect(answers()).toEqual(['/a keep-alive', '/b close']);
  await listening.close();
});

test('no request is handled after an answer that announces the end of the connection', async () => {
  const asked: string[] = [];
  const listening = await listen('127.0.0.1', 0, ({ url = '' }, response) => {
    asked.push(url);
    ending(response);
    response.writeHead(200, ['Content-Length', '2']).end('ok');
  });
  const text = 'GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n';
  expect((await answerTo(listening.url, text)).match(/HTTP\/1.1 200/g)).toHaveLength(1);
  expect(asked).toEqual(['/a']);
  await listening.close();
});

test.each([
  ['headers', 'POST / HTTP/1.1\r\nHost: localhost\r\n', [408]],
  ['body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{', [408]],
  // Browsers open connections in advance, which must not count as unreadable requests.
  ['first bytes', '', []],
])('a client whose request stops within its %s is cut off in time', async (_, begun, expected) => {
  const unreadable: number[] = [];
  const onUnreadable = ({ status }: { status: number }) => {
    unreadable.push(status);
    return [];
  };
  const listening = await listen('127.0.0.1', 0, () => {}, { slowestRequestMs: 1, onUnreadable });
  expect(await answerTo(listening.url, begun)).toMatch(/^HTTP\/1\.1 408 /);
  expect(unreadable).toEqual(expected);
  await listening.close();
});
