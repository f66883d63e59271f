import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Plugin } from 'graphql-yoga';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createBankql, type MountedBankql } from '../../src/index.ts';
import { payloadsOf, startReading } from '../support/incremental-client.ts';

/** bankql in other servers: examples/mount. Those whose packages are not installed are skipped. */

const environment = { SANDBOX_PORT: '0', LOG_LEVEL: 'silent' };
const alice = {
  'Ocp-Apim-Subscription-Key': 'sandbox-key',
  'Auth-Provider-Name': 'sandbox',
  'Auth-ID': 'alice',
};
const json = { ...alice, 'Content-Type': 'application/json' };
const label = '{ bank { account(accountId: "alice-current") { label } } }';
const answer = { data: { bank: { account: { label: 'Everyday' } } } };

const isInstalled = async (name: string): Promise<boolean> =>
  import(name).then(
    () => true,
    () => false,
  );

/** How a framework's app is asked: by a URL, or by its own fetch. */
interface Host {
  readonly ask: (request: Request) => Promise<Response>;
  /** Empty if it listens nowhere. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

const example = async (name: string) => import(`../../examples/mount/${name}.ts`);

async function listening(server: ReturnType<typeof createServer>, close: () => Promise<void>): Promise<Host> {
  if (!server.listening) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    ask: (request) => fetch(new Request(request.url.replace('http://localhost', url), request)),
    async close() {
      server.close();
      server.closeAllConnections();
      await close();
    },
  };
}

const hosts: Readonly<Record<string, { readonly needs: string; start(): Promise<Host> }>> = {
  'a route handler': {
    needs: 'node:http',
    async start() {
      const { GET, POST, OPTIONS, close } = await example('route-handler');
      const handlers: Readonly<Record<string, MountedBankql['fetch']>> = { GET, POST, OPTIONS };
      return {
        url: '',
        close,
        ask: async (request) => handlers[request.method]?.(request) ?? Response.error(),
      };
    },
  },
  Hono: {
    needs: 'hono',
    async start() {
      const { app, close } = await example('hono');
      return { url: '', close, ask: async (request) => app.fetch(request) };
    },
  },
  Express: {
    needs: 'express',
    async start() {
      const { app, close } = await example('express');
      return listening(createServer(app), close);
    },
  },
  Fastify: {
    needs: 'fastify',
    async start() {
      const { app, close } = await example('fastify');
      await app.listen({ host: '127.0.0.1', port: 0 });
      return listening(app.server, close);
    },
  },
};

for (const [name, { needs, start }] of Object.entries(hosts)) {
  describe.runIf(await isInstalled(needs))(name, () => {
    let host: Host;
    beforeAll(async () => {
      for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value);
      host = await start();
      vi.unstubAllEnvs();
    });
    afterAll(() => host.close());
    const post = (body: string, headers: Readonly<Record<string, string>> = json) =>
      host.ask(new Request('http://localhost/graphql', { method: 'POST', headers, body }));

    test('serves an operation, by POST and by GET', async () => {
      const posted = await post(JSON.stringify({ query: label }));
      expect([posted.status, await posted.json()]).toEqual([200, answer]);
      expect(posted.headers.get('cache-control')).toBe('no-store');
      const url = `http://localhost/graphql?query=${encodeURIComponent(label)}`;
      const got = await host.ask(new Request(url, { headers: alice }));
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
    });

    test('answers in several results', async () => {
      const query = '{ __typename ... @defer { bank { account(accountId: "alice-current") { label } } } }';
      const response = await post(JSON.stringify({ query }), { ...json, Accept: 'multipart/mixed' });
      expect(response.headers.get('content-type')).toBe('multipart/mixed; boundary="-"; deferSpec=20220824');
      expect(await response.text()).toContain('"label":"Everyday"');
      if (host.url === '') return;
      const headers = { ...json, Accept: 'text/event-stream;incrementalSpec=v0.2' };
      const payloads = await payloadsOf(await startReading(`${host.url}/graphql`, { query }, headers));
      expect(payloads[0]).toMatchObject({ data: { __typename: 'Query' }, hasNext: true });
      expect(payloads.at(-1)).toMatchObject({ hasNext: false });
    });
  });
}

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

test('a body that is too long, and credentials that are given twice, are refused when mounted too', async () => {
  const bankql = await createBankql({ environment });
  const { url, ask, close } = await listening(createServer(bankql.node), bankql.close);
  const long = await ask(
    new Request('http://localhost/graphql', { method: 'POST', headers: json, body: ' '.repeat(100_001) }),
  );
  expect(long.status).toBe(413);
  const twice = await fetch(`${url}/graphql?subscription-key=other&query={__typename}`, { headers: alice });
  expect(twice.status).toBe(400);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
  await close();
});
