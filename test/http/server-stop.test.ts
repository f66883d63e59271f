import { once } from 'node:events';
import { expect, test } from 'vitest';
import { connectTo, postText } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

/** Promise 19: a server that stops loses no request. connection.test.ts tests the connections of a drain. */

test('an answer that is being written when the server stops arrives complete', async () => {
  await using fixture = await startServerFixture({ bankOptions: { maxBodyBytes: 20_000_000 } });
  const name = 'x'.repeat(1000);
  fixture.bank.otherwise({
    body: { branches: Array.from({ length: 8000 }, () => ({ acceptsDeposits: true, name })) },
  });
  const socket = connectTo(fixture.url);
  socket.write(postText(JSON.stringify({ query: '{ bank { branches { nodes { name } } } }' })));
  await once(socket, 'readable');
  const stopped = fixture.server.close();
  await lateBy(200);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  const answer = Buffer.concat(chunks).toString();
  const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
  expect(answer.length - answer.indexOf('\r\n\r\n') - 4).toBe(length);
  expect(length).toBeGreaterThan(8_000_000);
  await stopped;
});

test('/ready is 503 during the drain delay, while the server still accepts requests', async () => {
  await using fixture = await startServerFixture({ drainDelayMs: 2000 });
  const stopped = fixture.server.close();
  const refused = await fetch(`${fixture.server.url}/ready`);
  expect([refused.status, await refused.text()]).toEqual([503, 'leaving\n']);
  expect(refused.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect((await fetch(`${fixture.server.url}/health`)).status).toBe(200);
  expect(fixture.bank.calls).toEqual([]);
  await stopped;
  await expect(fetch(`${fixture.server.url}/ready`)).rejects.toThrow();
});
