import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { BoundedResult } from '../../src/engine/result.ts';
import { streamOf } from '../../src/server/incremental-response.ts';
import {
  createAnswerSender,
  type GraphQLHttpResponse,
  type SendOptions,
  toHttpResponse,
} from '../../src/server/response.ts';

test.each([1, 10_000, 20_000])(
  'an answer of %i letters is its JSON, encoded once where it is long',
  (length) => {
    const result = { data: { text: 'ä'.repeat(length) } };
    const answer = toHttpResponse(result, 'application/json');
    expect(Buffer.isBuffer(answer.body)).toBe(length > 16_384);
    expect(String(answer.body)).toBe(JSON.stringify(result));
    expect(String(streamOf(answer, 'text/event-stream').body)).toContain(
      `data: ${JSON.stringify(result)}\n\n`,
    );
    const parts = String(streamOf(answer, 'multipart/mixed').body);
    expect(parts).toContain(
      `Content-Length: ${Buffer.byteLength(answer.body)}\r\n\r\n${JSON.stringify(result)}\r\n`,
    );
  },
);

/** How an answer is sent. What it means over HTTP: http-cache.test.ts, compression.test.ts. */

const common = ['Cache-Control', 'no-store', 'X-Request-Id', 'r-1'];
const jsonType = ['Content-Type', 'application/json; charset=utf-8'];

/** An answer of public data, 2,000 bytes long. */
function publicAnswer(): GraphQLHttpResponse {
  const withoutData = () => ({ data: null });
  const result = new BoundedResult(
    { data: {} },
    { maxBytes: 10_000, isPublic: true, isCacheable: true, withoutData },
  );
  return { status: 200, headers: jsonType, body: 'x'.repeat(2000), result };
}

/** Sends it, and tells what was written. */
async function send({
  request,
  isDestroyed = () => false,
  ...options
}: Partial<SendOptions> & {
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  readonly isDestroyed?: () => boolean;
}) {
  const written: { status: number; headers: readonly string[]; body: string | Buffer }[] = [];
  let head: { status: number; headers: readonly string[] } = { status: 0, headers: [] };
  const response = {
    get destroyed() {
      return isDestroyed();
    },
    writeHead: (status: number, headers: readonly string[]) => {
      head = { status, headers };
    },
    end: (body: string | Buffer) => void written.push({ ...head, body }),
  } as unknown as ServerResponse;
  const sender = createAnswerSender({ limitPending: (answer) => answer, publicMaxAgeSeconds: 9, ...options });
  const sending = sender(request as IncomingMessage, response, publicAnswer(), common);
  await sending;
  return { isAtOnce: sending === null, written };
}

test('a POST’s answer is sent at once, and nobody may keep it', async () => {
  const { isAtOnce, written } = await send({ request: { method: 'POST', headers: {} } });
  expect(isAtOnce).toBe(true);
  expect(written).toEqual([
    {
      status: 200,
      headers: [...common, ...jsonType, 'Vary', 'Accept-Encoding', 'Content-Length', '2000'],
      body: 'x'.repeat(2000),
    },
  ]);
});

test('what takes the place of a GET’s answer of public data is not kept', async () => {
  const refusal: GraphQLHttpResponse = { ...publicAnswer(), status: 503, headers: jsonType, body: 'no room' };
  const { written } = await send({
    request: { method: 'GET', headers: {} },
    limitPending: () => refusal,
  });
  expect(written).toEqual([
    { status: 503, headers: [...common, ...jsonType, 'Content-Length', '7'], body: 'no room' },
  ]);
});

test('what waits for its client is counted as long as it is sent: compressed', async () => {
  const lengths: number[] = [];
  const { isAtOnce, written } = await send({
    request: { method: 'POST', headers: { 'accept-encoding': 'br' } },
    limitPending(answer) {
      lengths.push(answer.body.length);
      return answer;
    },
  });
  expect(isAtOnce).toBe(false);
  expect(written.map(({ body }) => body.length)).toEqual(lengths);
  expect(lengths[0]).toBeLessThan(100);
});

test('nothing is written to a client that left during the compression', async () => {
  let hasLeft = false;
  const sending = send({
    request: { method: 'POST', headers: { 'accept-encoding': 'gzip' } },
    isDestroyed: () => hasLeft,
  });
  hasLeft = true;
  expect((await sending).written).toEqual([]);
});
