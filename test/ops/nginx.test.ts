import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { closeNow, freePort, listenOnLoopback } from '../support/loopback.ts';
import { hasNginx, startNginx } from '../support/nginx.ts';
import { testFolder } from '../support/test-folder.ts';
import { until } from '../support/waits.ts';

if (!hasNginx) process.stdout.write('skipped: the headers behind nginx, since nginx is not installed\n');

/**
 * The replicas of ops/compose trust the auth headers that nginx sends (IDENTITY=headers), so nginx must not
 * pass on those of a client.
 */
describe.skipIf(!hasNginx)('nginx of compose', () => {
  const arrived: IncomingHttpHeaders[] = [];
  const replica = createServer((request, response) => {
    if (request.url?.startsWith('/graphql')) arrived.push(request.headers);
    response.end('{}');
  });
  let port = 0;
  beforeAll(async () => {
    port = await listenOnLoopback(replica);
  });
  afterAll(() => closeNow(replica));

  /** The headers of a request that pretends to be alice's, as they reach the replica. */
  async function reached(folder: string, caller?: { provider: string; id: string }) {
    // If root starts nginx, its workers run as another user.
    chmodSync(folder, 0o755);
    const listening = await freePort();
    const nginx = startNginx(folder, listening, { 'bankql-1': port, 'bankql-2': port }, caller);
    const url = `http://127.0.0.1:${listening}`;
    await until(() =>
      fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    arrived.length = 0;
    const claims = new Headers({ ...credentials, 'X-Verified': 'bob' });
    claims.append('Auth-ID', 'carol');
    const { status } = await fetch(`${url}/graphql`, { method: 'POST', headers: claims, body: '{}' });
    nginx.kill();
    await once(nginx, 'exit');
    expect([status, arrived.length]).toEqual([200, 1]);
    const [{ 'auth-provider-name': provider, 'auth-id': id } = {}] = arrived;
    return { provider, id };
  }

  describe('drops the names that callers send', () => {
    const folder = testFolder();
    test('while it has no others', async () => {
      expect(await reached(folder)).toEqual({});
    });
  });

  describe('sends its own in their place', () => {
    const folder = testFolder();
    test('those of what verified the caller', async () => {
      const own = await reached(folder, { provider: 'login', id: '$http_x_verified' });
      expect(own).toEqual({ provider: 'login', id: 'bob' });
    });
  });
});
