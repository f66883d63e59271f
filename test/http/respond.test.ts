import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { RequestHolder } from '../../src/graphql/request-holder.ts';
import { BoundedResult } from '../../src/graphql/result.ts';
import { NodeExchange } from '../../src/http/exchange.ts';
import { listen } from '../../src/http/listen.ts';
import { createRespond, type RespondOptions } from '../../src/http/respond.ts';

test.each([1, 10_000, 20_000])('an answer of %i letters is encoded once if it is long', (length) => {
  const result = { data: { text: 'ä'.repeat(length) } };
  const answer = createRespond({}, () => ({}))(result, {
    mediaType: 'application/json',
    request: { method: 'POST', headers: {} },
    holder: { reserveRoom: () => true },
    activity: null,
  });
  expect(Buffer.isBuffer(answer.body)).toBe(length > 16_384);
  expect(String(answer.body)).toBe(JSON.stringify(result));
});

/** How an answer is sent. post-and-get.test.ts and caching.test.ts test answers over HTTP. */

const common = ['Cache-Control', 'no-store', 'X-Request-Id', 'r-1'];
const jsonType = ['Content-Type', 'application/json; charset=utf-8'];

/** A result of public data whose JSON has this number of bytes. */
const publicResult = (length: number) =>
  new BoundedResult(
    { data: { text: 'x'.repeat(length - '{"data":{"text":""}}'.length) } },
    { maxBytes: 100_000, isCacheable: true, withoutData: () => ({ data: null }) },
  );

const exchangeOf = (response: ServerResponse, request: Pick<IncomingMessage, 'method'> = response.req) =>
  new NodeExchange(request as IncomingMessage, response, undefined as unknown as RequestHolder);

/** Sends a result, and returns the written answer. */
function send({
  request,
  isDestroyed = () => false,
  reserveRoom = () => true,
  length = 2000,
  ...options
}: Partial<RespondOptions> & {
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  readonly isDestroyed?: () => boolean;
  readonly reserveRoom?: (bytes: number) => boolean;
  readonly length?: number;
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
  const respond = createRespond({ publicMaxAgeSeconds: 9, ...options }, () => ({ data: null }));
  const holder = { reserveRoom };
  const made = respond(publicResult(length), {
    mediaType: 'application/json',
    request,
    holder,
    activity: null,
  });
  exchangeOf(response, { method: 'POST' }).send(made, common);
  return written;
}

test.each([
  ['ASCII', 'plain'],
  ['Latin-1', 'Müller'],
  ['other characters', 'Αθήνα €'],
])('an answer with %s arrives in UTF-8, on a connection that stays', async (_characters, letters) => {
  const result = { data: { letters: letters.repeat(2000) } };
  const body = JSON.stringify(result);
  const { url, close } = await listen('127.0.0.1', 0, (_request, response) => {
    exchangeOf(response).send({ status: 200, headers: jsonType, body }, common);
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (let time = 0; time < 2; time++) {
      const asked = get(url, { agent });
      const [response]: IncomingMessage[] = await once(asked, 'response');
      expect(asked.reusedSocket).toBe(time > 0);
      expect(response && (await text(response))).toBe(body);
    }
  } finally {
    agent.destroy();
    await close();
  }
});

test('the error that replaces a cacheable answer may not be cached', () => {
  const written = send({
    request: { method: 'GET', headers: {} },
    length: 20_000,
    reserveRoom: () => false,
  });
  const body = '{"data":null}';
  expect(written).toEqual([
    { status: 200, headers: [...common, ...jsonType, 'Content-Length', String(body.length)], body },
  ]);
});

test('memory is reserved for a long answer, and none for a short one', () => {
  const lengths: number[] = [];
  const reserveRoom = (bytes: number) => lengths.push(bytes) > 0;
  const request = { method: 'POST', headers: {} };
  send({ request, length: 16_000, reserveRoom });
  send({ request, length: 20_000, reserveRoom });
  expect(lengths).toEqual([20_000]);
});

test('nothing is written to a client that has left', () => {
  expect(send({ request: { method: 'POST', headers: {} }, isDestroyed: () => true })).toEqual([]);
});
