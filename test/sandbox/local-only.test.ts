import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { freshBank } from './bank-caller.ts';

const refusal = { code: 403, message: 'Only this machine may use this address of the sandbox' };

/** Sends a request with these headers; `Host` too, which fetch does not allow. */
async function send(url: string, method: 'GET' | 'PUT' | 'POST', headers: Record<string, string>) {
  const body = method === 'PUT' ? '{"getCustomer":{"status":503}}' : null;
  const answer = await request(url, { method, headers, body });
  const text = await answer.body.text();
  return { status: answer.statusCode, json: text === '' ? null : JSON.parse(text) };
}

const routes = [
  ['PUT', '/sandbox/faults'],
  ['PUT', '/%73andbox/faults'],
  ['POST', '/sandbox/reset'],
  ['GET', '/v1/api/banks/SNDBCY2N/branches?subscription-key=sandbox-key'],
  ['GET', '/nowhere'],
] as const;

const foreign: Record<string, string>[] = [
  { origin: 'https://elsewhere.example' },
  { origin: 'null' },
  { origin: 'http://localhost.elsewhere.example' },
  { host: 'elsewhere.example:4010' },
  { host: 'elsewhere.example:4010', origin: 'http://elsewhere.example:4010' },
  { host: '127.0.0.1.elsewhere.example' },
];

describe.each(routes)('%s %s', (method, path) => {
  test('is refused to a page of another site', async () => {
    await using bank = await freshBank();
    for (const headers of foreign)
      expect(await send(bank.url + path, method, headers), JSON.stringify(headers)).toEqual({
        status: 403,
        json: refusal,
      });
    expect((await bank.call('getCustomer', { CUSTOMER_ID: 'alice' })).status).toBe(200);
  });

  test('is open to the names of this machine', async () => {
    await using bank = await freshBank();
    const { port } = new URL(bank.url);
    const local = (headers: Record<string, string>) => send(bank.url + path, method, headers);
    for (const name of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect((await local({ host: name })).status).not.toBe(403);
      expect((await local({ host: name, origin: `http://${name}` })).status).not.toBe(403);
    }
  });
});
