import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Plugin } from 'graphql-yoga';
import { Hono } from 'hono';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createBankql, type MountedBankql } from '../../src/index.ts';

/**
 * bankql mounted in other servers in usual ways: those of examples/mount, and those of the documentation of yoga, Apollo and the
 * hosts.
 */

/** The part of Express that these tests use. Its package has no types. */
interface Express {
  use(...handlers: readonly unknown[]): Express;
  all(path: string, handler: unknown): Express;
}
const express: {
  (): Express & Parameters<typeof createServer>[1];
  json(): unknown;
  Router(): Express;
} = (await import('express' as string)).default;

const environment = { SANDBOX_PORT: '0', LOG_LEVEL: 'silent' };
const alice = {
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': 'alice',
};
const json = { ...alice, 'Content-Type': 'application/json' };
const label = '{ bank { account(accountId: "alice-current") { label } } }';
const answer = { data: { bank: { account: { label: 'Everyday' } } } };

const wasRead =
  'The body was read before bankql: pass it as `request.body`, or mount bankql before the parser.';

/** A server in which bankql is mounted. */
interface Host {
  /** The path of GraphQL. */
  readonly endpoint: string;
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
  readonly close: () => Promise<void>;
}

const example = async (name: string) => import(`../../examples/mount/${name}.ts`);

async function listening(server: Server, endpoint: string, close: () => Promise<void>): Promise<Host> {
  if (!server.listening) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const { port } = server.address() as AddressInfo;
  return {
    endpoint,
    ask: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
    async close() {
      server.close();
      server.closeAllConnections();
      await close();
    },
  };
}

/** Express, with bankql mounted by `mount`. */
const inExpress =
  (endpoint: string, mount: (app: Express, bankql: MountedBankql) => unknown) => async (): Promise<Host> => {
    const bankql = await createBankql({ environment });
    const app = express();
    mount(app, bankql);
    return listening(createServer(app), endpoint, bankql.close);
  };

/** Hono on Node, with a version of its server. Version 1 replaces Fetch's classes, including the global ones. */
const inHono = (version: '@hono/node-server' | 'hono-node-server-1') => async (): Promise<Host> => {
  const { Request: OwnRequest, Response: OwnResponse } = globalThis;
  const { serve } = await import(version);
  const bankql = await createBankql({ environment, path: '/gql' });
  const app = new Hono().all('/gql/*', (c) => bankql.fetch(c.req.raw));
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  return listening(server, '/gql', async () => {
    Object.assign(globalThis, { Request: OwnRequest, Response: OwnResponse });
    await bankql.close();
  });
};

const hosts: Readonly<Record<string, () => Promise<Host>>> = {
  async 'a route handler, as Next.js calls it'() {
    const { close, ...handlers } = await example('route-handler');
    // Next.js passes its own subclass of Request, and the route's parameters.
    class NextRequest extends Request {}
    const params = Promise.resolve({ file: undefined });
    return {
      endpoint: '/api/graphql',
      ask: (path, init) => {
        const request = new NextRequest(`http://localhost${path}`, init);
        return handlers[request.method](request, { params });
      },
      close,
    };
  },
  async Hono() {
    const { app, close } = await example('hono');
    return {
      endpoint: '/graphql',
      ask: async (path, init) => app.fetch(new Request(`http://localhost${path}`, init)),
      close,
    };
  },
  'Hono on @hono/node-server, by another path': inHono('@hono/node-server'),
  'Hono on @hono/node-server 1, by another path': inHono('hono-node-server-1'),
  async Express() {
    const { app, close } = await example('express');
    return listening(createServer(app), '/graphql', close);
  },
  'Express, by app.use after express.json()': inExpress('/graphql', (app, { node }) =>
    app.use(express.json()).use('/graphql', node),
  ),
  'Express, by another mount point': inExpress('/gql', (app, { node }) => app.use('/gql', node)),
  'Express, by another mount point after express.json()': inExpress('/api/v1/gql', (app, { node }) =>
    app.use(express.json()).use('/api/v1', express.Router().use('/gql', node)),
  ),
  'Express, by app.all': inExpress('/graphql', (app, { node }) => app.all('/graphql{/*file}', node)),
  'Express, by app.all after express.json()': inExpress('/api/graphql', (app, { node }) =>
    app.use(express.json()).all('/api/graphql{/*file}', node),
  ),
  'Express, which rewrites the URL': inExpress('/gql', (app, { node }) =>
    app.use((request: IncomingMessage, response: ServerResponse) => {
      request.url = request.url?.replace(/^\/gql/, '/graphql');
      return node(request, response);
    }),
  ),
  async Fastify() {
    const { app, close } = await example('fastify');
    await app.listen({ host: '127.0.0.1', port: 0 });
    return listening(app.server, '/graphql', close);
  },
};

describe.each(Object.entries(hosts))('%s', (_name, start) => {
  let host: Host;
  beforeAll(async () => {
    for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value);
    host = await start();
    vi.unstubAllEnvs();
  });
  afterAll(() => host.close());
  const post = (body: string, headers: Readonly<Record<string, string>> = json) =>
    host.ask(host.endpoint, { method: 'POST', headers, body });

  test('serves an operation, by POST and by GET', async () => {
    const posted = await post(JSON.stringify({ query: label }));
    expect([posted.status, await posted.json()]).toEqual([200, answer]);
    expect(posted.headers.get('cache-control')).toBe('no-store');
    const got = await host.ask(`${host.endpoint}?query=${encodeURIComponent(label)}`, { headers: alice });
    expect([got.status, await got.json()]).toEqual([200, answer]);
  });

  test('refuses what bankql refuses', async () => {
    const wrong = await post(JSON.stringify({ query: '{ nothing }' }));
    expect(await wrong.json()).toMatchObject({
      errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }],
    });
    const form = { ...alice, 'Content-Type': 'text/plain' };
    expect((await post('query={__typename}', form)).status).toBe(415);
    const body = JSON.stringify({ query: label });
    const unnamed = await post(body, { 'Content-Type': 'application/json' });
    expect(await unnamed.json()).toMatchObject({
      errors: [{ extensions: { code: 'MISSING_CREDENTIALS' } }],
    });
    expect((await host.ask('/elsewhere')).status).toBe(404);
  });

  test('answers in several results', async () => {
    const query = '{ __typename ... @defer { bank { account(accountId: "alice-current") { label } } } }';
    const body = JSON.stringify({ query });
    const parts = await post(body, { ...json, Accept: 'multipart/mixed' });
    expect(parts.headers.get('content-type')).toBe('multipart/mixed; boundary="-"; deferSpec=20220824');
    expect(await parts.text()).toMatch(/"__typename":"Query"[\s\S]*"label":"Everyday"[\s\S]*-----\r\n$/);
    const events = await post(body, { ...json, Accept: 'text/event-stream;incrementalSpec=v0.2' });
    expect(events.headers.get('content-type')).toBe('text/event-stream; incrementalSpec=v0.2');
    expect(await events.text()).toMatch(
      /^:\n\nevent: next\ndata: .*"hasNext":true.*\n\nevent: next\ndata: .*"hasNext":false.*\n\nevent: complete/,
    );
  });

  test('shows GraphiQL, whose page finds its files', async () => {
    const page = await host.ask(host.endpoint, { headers: { Accept: 'text/html' } });
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const names = [...(await page.text()).matchAll(/(?:href|src)="([^"]+)"/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(5);
    for (const name of names) {
      const { pathname } = new URL(name, `http://localhost${host.endpoint}`);
      const file = await host.ask(pathname);
      expect([pathname, file.status]).toEqual([pathname, 200]);
      await file.body?.cancel();
    }
  });
});

test('a plugin of Envelop’s ecosystem sees every operation, whichever way it comes', async () => {
  const seen: string[] = [];
  const plugin: Plugin = {
    onExecute({ args }) {
      seen.push(`execute ${args.operationName}`);
      return { onExecuteDone: ({ result }) => void seen.push('data' in result ? 'data' : 'several') };
    },
    onExecutionResult: () => void seen.push('result'),
  };
  const bankql = await createBankql({ environment, plugins: [plugin] });
  const ask = (query: string, accept: string) =>
    bankql.fetch(
      new Request('http://localhost/graphql', {
        method: 'POST',
        headers: { ...json, Accept: accept },
        body: JSON.stringify({ query, operationName: 'Asked' }),
      }),
    );
  expect(await (await ask('query Asked { __typename }', 'application/json')).json()).toEqual({
    data: { __typename: 'Query' },
  });
  expect(seen.splice(0)).toEqual(['execute Asked', 'data', 'result']);
  await (await ask('query Asked { __typename }', 'text/event-stream')).text();
  expect(seen.splice(0)).toEqual(['execute Asked', 'data', 'result']);
  await (await ask('query Asked { ... @defer { __typename } }', 'multipart/mixed')).text();
  expect(seen.splice(0)).toEqual(['execute Asked', 'several', 'result']);
  await bankql.close();
});

describe('by a listener for node:http', () => {
  let bankql: MountedBankql;
  let host: Host;
  /** The code that reads the body before bankql does. */
  let before: (request: IncomingMessage & { body?: unknown }) => Promise<void> = async () => {};
  beforeAll(async () => {
    bankql = await createBankql({ environment });
    const server = createServer(async (request, response) => {
      await before(request);
      await bankql.node(request, response);
    });
    host = await listening(server, '/graphql', bankql.close);
  });
  afterEach(() => {
    before = async () => {};
  });
  afterAll(() => host.close());
  const post = (body: string | ReadableStream) =>
    host.ask('/graphql', { method: 'POST', headers: json, body, duplex: 'half' } as RequestInit);

  test('a body that is too long, and credentials that are given twice, are refused', async () => {
    expect((await post(' '.repeat(100_001))).status).toBe(413);
    const twice = await host.ask('/graphql?subscription-key=other&query={__typename}', { headers: alice });
    expect(twice.status).toBe(400);
    expect((await host.ask('/health')).status).toBe(200);
  });

  test.each([
    ['its bytes', (body: Buffer): unknown => body],
    ['its text', String],
    ['its JSON', (body: Buffer): unknown => JSON.parse(String(body))],
  ])('a body that was read before is taken from request.body, and measured: %s', async (_what, parse) => {
    before = async (request) => {
      request.body = parse(await buffer(request));
    };
    // The body is sent in chunks, because a too large Content-Length is refused before the body is read.
    const inChunks = (body: string) => post(new Blob([body]).stream());
    expect(await (await inChunks(JSON.stringify({ query: label }))).json()).toEqual(answer);
    const long = await inChunks(JSON.stringify({ query: label, variables: { text: 'x'.repeat(100_000) } }));
    expect([long.status, await long.json()]).toMatchObject([
      413,
      { errors: [{ message: 'The body is longer than 100000 bytes.' }] },
    ]);
  });

  test('a body that was read before, and not kept, is answered at once', async () => {
    before = async (request) => void (await buffer(request));
    const lost = await post(JSON.stringify({ query: label }));
    expect([lost.status, await lost.json()]).toMatchObject([500, { errors: [{ message: wasRead }] }]);
    // A GET without a body.
    const got = await host.ask(`/graphql?query=${encodeURIComponent(label)}`, { headers: alice });
    expect(await got.json()).toEqual(answer);
  });

  test('a host’s parser that has not read all yet is answered at once too', async () => {
    before = async (request) => {
      request.once('data', () => request.pause());
      await once(request, 'data');
    };
    const lost = await post(JSON.stringify({ query: label }));
    expect([lost.status, await lost.json()]).toMatchObject([500, { errors: [{ message: wasRead }] }]);
  });

  test('a Request whose body was read before is answered at once', async () => {
    const request = new Request('http://localhost/graphql', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ query: label }),
    });
    await request.text();
    const lost = await bankql.fetch(request);
    expect([lost.status, await lost.json()]).toMatchObject([500, { errors: [{ message: wasRead }] }]);
  });

  test('a Request need not be of Node’s own class', async () => {
    const { method, url, headers, signal, body, bodyUsed } = new Request('http://localhost/graphql', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ query: label }),
    });
    const request = { method, url, headers, signal, body, bodyUsed } as Request;
    expect(await (await bankql.fetch(request)).json()).toEqual(answer);
  });
});

test('a path that does not begin with a slash is refused', async () => {
  await expect(createBankql({ environment, path: 'graphql' })).rejects.toThrow('begin it with a slash');
});
