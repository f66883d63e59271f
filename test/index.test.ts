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

test('variables that cannot be used are refused by name', async () => {
  await expect(startBankql({ environment: { PORT: 'x' } })).rejects.toThrow(ConfigError);
});

test('the schema and the version are the package’s own', () => {
  expect(schema.getQueryType()?.name).toBe('Query');
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});
