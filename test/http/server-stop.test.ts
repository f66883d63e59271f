import { once } from 'node:events';
import { expect, test } from 'vitest';
import { connectTo, postOf, postText } from '../support/requests.ts';
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

test('a mutation whose client has left ends before the server has stopped', async () => {
  await using fixture = await startServerFixture();
  const [reading, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fixture.bank.otherwise(async ({ method, body }) => {
    if (method === 'PUT') return { body };
    reading.resolve();
    await stopping.promise;
    return { body: { branches: ['A', 'B'].map((id) => ({ id, name: 'old', acceptsDeposits: true })) } };
  });
  const update = (id: string) =>
    `${id}: updateBranch(input: { branchId: "${id}", changes: { name: "new" } })`;
  const query = `mutation { ${update('A')} { trackId } ${update('B')} { trackId } }`;
  const leaving = new AbortController();
  const asked = fetch(fixture.url, { ...postOf({ query }), signal: leaving.signal }).catch(() => 'left');
  await reading.promise;
  leaving.abort();
  expect(await asked).toBe('left');
  await expect.poll(() => fixture.server.held.requests).toBe(0);
  const stopped = fixture.server.close();
  stopping.resolve();
  await stopped;
  expect(fixture.bank.lines().filter((line) => line.startsWith('PUT'))).toEqual(
    ['A', 'B'].map((id) => `PUT /v1/api/banks/BANK/branches/${id}`),
  );
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
