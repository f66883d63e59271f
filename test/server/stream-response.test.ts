import { expect, test } from 'vitest';
import { incrementalStreamOf, streamOf, streamTypeOf } from '../../src/server/stream-response.ts';

test.each([
  [undefined, null],
  ['application/json', null],
  ['text/event-stream', 'text/event-stream'],
  ['application/json, TEXT/*;q=0.5', 'text/event-stream'],
  ['multipart/mixed; deferSpec=20220824', 'multipart/mixed'],
  ['multipart/*, text/event-stream', 'multipart/mixed'],
  ['text/event-stream;q=0', null],
  ['text/event-stream; charset=latin1', null],
  ['text/event-stream;q=0.5, multipart/mixed;q=0.6', 'multipart/mixed'],
  ['constructor', null],
])('who accepts %j is sent %s', (accept, type) => {
  expect(streamTypeOf(accept)).toBe(type);
});

test.each([
  ['multipart/mixed', ['multipart/mixed', '20220824']],
  ['multipart/mixed;deferSpec=20220824, application/json', ['multipart/mixed', '20220824']],
  ['multipart/mixed;incrementalSpec="v0.2", application/json', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed;incrementalSpec=v0.3, text/event-stream;q=0.1', ['text/event-stream', '20220824']],
  ['text/event-stream;q=0.5, multipart/mixed;incrementalSpec=v0.2;q=0.6', ['multipart/mixed', 'v0.2']],
  ['multipart/mixed;q=0, application/json', null],
  ['multipart/mixed;deferSpec=2019', null],
  ['application/json;note="x, multipart/mixed"', null],
  ['multipart/*', null],
  [undefined, null],
])('who accepts %j is sent the results of @defer as %j', (accept, stream) => {
  const taken = incrementalStreamOf(accept);
  expect(taken && [taken.type, taken.form]).toEqual(stream);
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
