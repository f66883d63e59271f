import { expect, test } from 'vitest';
import { streamOf, streamTypeOf } from '../../src/server/stream-response.ts';

test.each([
  [undefined, null],
  ['application/json', null],
  ['text/event-stream', 'text/event-stream'],
  ['application/json, TEXT/*;q=0.5', 'text/event-stream'],
  ['multipart/mixed; deferSpec=20220824', 'multipart/mixed'],
  ['multipart/*, text/event-stream', 'multipart/mixed'],
  ['text/event-stream;q=0', null],
  ['text/event-stream; charset=latin1', null],
  ['constructor', null],
])('who accepts %j is sent %s', (accept, type) => {
  expect(streamTypeOf(accept)).toBe(type);
});

const answer = {
  status: 200,
  headers: ['Content-Type', 'application/json; charset=utf-8', 'X-Other', 'kept'],
  body: '{"data":"ë"}',
  result: {},
};

test('an answer as events', () => {
  const { status, headers, body } = streamOf(answer, 'text/event-stream');
  expect(status).toBe(200);
  expect(headers).toEqual(['Content-Type', 'text/event-stream', 'X-Other', 'kept']);
  expect(String(body)).toBe(':\n\nevent: next\ndata: {"data":"ë"}\n\nevent: complete\ndata:\n\n');
});

test('an answer in parts says how many bytes it has', () => {
  const { headers, body } = streamOf(answer, 'multipart/mixed');
  expect(headers[1]).toBe('multipart/mixed; boundary="-"');
  expect(String(body)).toBe(
    '\r\n---\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 13\r\n\r\n{"data":"ë"}\r\n-----\r\n',
  );
});
