import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { ConfigError, schema, startBankql, version } from '../src/index.ts';

test('bankql is served from code as the command serves it, and stops', async () => {
  const bankql = await startBankql({ environment: { PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' } });
  const response = await fetch(`${bankql.url}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Ocp-Apim-Subscription-Key': 'sandbox-key',
      'Auth-Provider-Name': 'sandbox',
      'Auth-ID': 'alice',
    },
    body: JSON.stringify({ query: '{ bank { account(accountId: "alice-current") { label } } }' }),
  });
  expect(await response.json()).toEqual({ data: { bank: { account: { label: 'Everyday' } } } });
  await bankql.stop();
  await expect(fetch(`${bankql.url}/health`)).rejects.toThrow();
});

test('a start that fails leaves nothing behind: the next one gets the ports', async () => {
  const taken = createServer();
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  await once(taken.listen(0, '127.0.0.1'), 'listening');
  const free = createServer();
  await once(free.listen(0, '127.0.0.1'), 'listening');
  const environment = {
    PORT: String(portOf(taken)),
    SANDBOX_PORT: String(portOf(free)),
    METRICS_PORT: '0',
    LOG_LEVEL: 'silent',
  };
  await free[Symbol.asyncDispose]();
  const sandbox = `http://127.0.0.1:${environment.SANDBOX_PORT}/`;
  await expect(startBankql({ environment })).rejects.toThrow('EADDRINUSE');
  await expect(fetch(sandbox)).rejects.toThrow();
  await taken[Symbol.asyncDispose]();
  const bankql = await startBankql({ environment });
  expect((await fetch(sandbox)).status).toBe(404);
  await bankql.stop();
  await expect(fetch(sandbox)).rejects.toThrow();
});

test('variables that cannot be used are refused by name', async () => {
  await expect(startBankql({ environment: { PORT: 'x' } })).rejects.toThrow(ConfigError);
});

test('the schema and the version are the package’s own', () => {
  expect(schema.getQueryType()?.name).toBe('Query');
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});
