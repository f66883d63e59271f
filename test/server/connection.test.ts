import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { type ConnectionAwareResponse, listen } from '../../src/server/connection.ts';

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
  const closed = listening.close({ idleMs: 60_000 });
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
