import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { limit } from '../../bench/contenders.ts';
import { AnswerReader } from '../../bench/load/answer-reader.ts';
import { fire } from '../../bench/load/fire.ts';
import { requestsOf } from '../../bench/load/requests.ts';
import { checkedAnswer } from '../../bench/measure.ts';
import { q3 } from '../../bench/shapes.ts';

/** The bench compares answers: here it meets wrong ones. */

const right = Buffer.from('{"data":{"__typename":"Query"}}');
let close = () => {};
afterEach(() => close());

/** A contender that answers with each of these in turn, and with the last from there on. */
async function contender(...answers: readonly (string | Buffer)[]) {
  let turn = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(answers[Math.min(turn++, answers.length - 1)]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  const process = { pid: 0, output: () => '', hasEnded: () => false, [Symbol.asyncDispose]: async () => {} };
  return { contender: limit, port, process, [Symbol.asyncDispose]: async () => {} };
}

const load = (port: number, seconds: number) => ({
  port,
  requests: requestsOf(q3.query, port),
  connections: 4,
  seconds,
  expected: right,
});

test('the same data in another order of keys is the same answer', async () => {
  const running = await contender('{"data":{"b":[1,2],"a":{"d":1,"c":2}}}');
  const answer = Buffer.from('{"data":{"a":{"c":2,"d":1},"b":[1,2]}}');
  expect((await checkedAnswer(running, q3.query, q3, answer)).length).toBe(answer.length);
});

test.each([
  ['another value', '{"data":{"__typename":"Mutation"}}'],
  ['a field too many', '{"data":{"__typename":"Query","more":null}}'],
  ['an error beside the data', '{"data":{"__typename":"Query"},"errors":[{"message":"no"}]}'],
])('%s is another answer', async (_what, text) => {
  const running = await contender(text);
  await expect(checkedAnswer(running, q3.query, q3, right)).rejects.toThrow('otherwise than the limit');
});

test('under load one wrong answer among many ends the round', async () => {
  const { port } = await contender(...Array(20).fill(right), '{"data":{"__typename":"query"}}');
  // It ends with the wrong answer, long before the time is over.
  await expect(fire(load(port, 50))).rejects.toThrow('another answer');
});

test('under load each right answer is counted', async () => {
  const { port } = await contender(right);
  const { requests, latencies } = await fire(load(port, 1));
  expect(requests).toBeGreaterThan(4);
  expect(latencies).toHaveLength(requests);
});

const answers = {
  'with a length': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
};
test.each(Object.entries(answers))(
  'an answer %s is read however it is cut, and so is the next',
  (_how, text) => {
    for (let size = 1; size <= text.length; size++) {
      const reader = new AnswerReader();
      for (const _turn of [1, 2]) {
        const bodies: string[] = [];
        for (let at = 0; at < text.length; at += size) {
          const body = reader.take(Buffer.from(text.slice(at, at + size)));
          if (body !== null) bodies.push(body.toString());
        }
        expect(bodies).toEqual(['hello']);
      }
    }
  },
);

test('an answer that is no 200 is none', () => {
  const refused = Buffer.from('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n');
  expect(() => new AnswerReader().take(refused)).toThrow('503');
});
