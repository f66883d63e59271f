import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/**
 * A simple login server on loopback. It signs a token for each customer of the sandbox bank who knows the PIN 1234, and serves
 * its public key and the phone's page. The default of `PORT` is 4020.
 */
const customers = new Set(['alice', 'bob', 'carol', 'yuki', 'omar']);
const lifetimeSeconds = 300;

const { privateKey, publicKey } = await generateKeyPair('ES256');
const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig' }] };

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8');

/** The documents' ids by the names of their operations. A build would put them into the app. */
const operations = Object.fromEntries(
  Object.entries(JSON.parse(read('manifest.json')) as Record<string, string>).map(([id, text]) => [
    /^(?:query|mutation) (\w+)/.exec(text)?.[1],
    id,
  ]),
);

interface Reply {
  readonly status?: number;
  readonly type: 'application/json' | 'text/html' | 'text/css' | 'text/javascript';
  readonly body: string;
}
const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

const files: Readonly<Record<string, Reply['type']>> = {
  'index.html': 'text/html',
  'style.css': 'text/css',
  'phone.js': 'text/javascript',
};

async function token(request: IncomingMessage, issuer: string): Promise<Reply> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  const { customer, pin } = JSON.parse(text) as Record<string, unknown>;
  if (typeof customer !== 'string' || !customers.has(customer) || pin !== '1234')
    return json({ error: 'invalid_grant' }, 400);
  const signed = await new SignJWT({ bank_provider: 'sandbox', bank_customer: customer })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(issuer)
    .setAudience('bankql')
    .setExpirationTime(`${lifetimeSeconds}s`)
    .sign(privateKey);
  return json({ access_token: signed, token_type: 'Bearer', expires_in: lifetimeSeconds });
}

async function answer(request: IncomingMessage, issuer: string): Promise<Reply> {
  const { pathname } = new URL(request.url ?? '/', issuer);
  if (request.method === 'POST' && pathname === '/token') return token(request, issuer);
  if (pathname === '/keys') return json(keys);
  if (pathname === '/operations.json') return json(operations);
  // A real app has bankql/client in its bundle. Here it is served as it is, without its types.
  const [, module] = /^\/client\/([a-z-]+\.ts)$/.exec(pathname) ?? [];
  if (module !== undefined)
    return { type: 'text/javascript', body: stripTypeScriptTypes(read(`../../src/client/${module}`)) };
  const name = pathname.slice(1) || 'index.html';
  const type = files[name];
  return type === undefined ? json({ error: 'not_found' }, 404) : { type, body: read(`phone/${name}`) };
}

const server = createServer(async (request, response) => {
  const reply = await answer(request, issuer).catch(() => json({ error: 'invalid_request' }, 400));
  response.writeHead(reply.status ?? 200, {
    'Content-Type': `${reply.type}; charset=utf-8`,
    'Cache-Control': 'no-store',
  });
  response.end(reply.body);
});
await new Promise<void>((resolve) => server.listen(Number(process.env.PORT ?? 4020), '127.0.0.1', resolve));
const address = server.address();
const issuer = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
process.stdout.write(`The login server, and the phone: ${issuer}\n`);
