import { once } from 'node:events';
import { expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { connectTo, postText } from '../support/requests.ts';
import { startServerFixture } from '../support/server-fixture.ts';
import { lateBy, quietFor } from '../support/waits.ts';

/** What is answered to these pieces, each sent a while after the one before it. */
async function send(url: string, pieces: readonly string[]): Promise<string> {
  const socket = connectTo(url).setNoDelay().setEncoding('utf8');
  for (const piece of pieces) {
    socket.write(piece);
    await lateBy(30);
  }
  let answered = '';
  for await (const text of socket) {
    answered += text;
    if (answered.endsWith('}')) break;
  }
  return answered.slice(answered.indexOf('\r\n\r\n') + 4);
}

test('a body is read in whatever pieces it comes', async () => {
  await using fixture = await startServerFixture();
  fixture.bank.otherwise(() => ({ body: { branches: [] } }));
  const body = JSON.stringify({ query: '{ bank { branches { totalCount } } }' });
  const head = postText(body, credentials, '');
  const expected = '{"data":{"bank":{"branches":{"totalCount":0}}}}';
  expect(await send(fixture.url, [head + body])).toBe(expected);
  expect(await send(fixture.url, [head, body])).toBe(expected);
  expect(await send(fixture.url, [head + body.slice(0, 9), body.slice(9)])).toBe(expected);
  expect(await send(fixture.url, [head, ...(body.match(/.{1,20}/g) ?? [])])).toBe(expected);
});

test('of a client that has left before it is known who it is nothing is done', async () => {
  const { promise: identified, resolve: identify } = Promise.withResolvers<void>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  await using fixture = await startServerFixture({
    async authenticate() {
      ask();
      await identified;
      return { subscriptionKey: 'key-1', authProviderName: 'provider-1', authId: 'caller-1' };
    },
  });
  const socket = connectTo(fixture.url);
  const body = JSON.stringify({ query: 'mutation { putProduct(input: { product: {} }) { trackId } }' });
  socket.write(postText(body));
  await asked;
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(() => fixture.server.held.arriving).toBe(0);
  identify();
  await quietFor(50);
  expect(fixture.bank.calls).toEqual([]);
});
