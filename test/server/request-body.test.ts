import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  bufferedBody,
  ClientDisconnected,
  inflateBody,
  isGzip,
  readBody,
} from '../../src/server/request-body.ts';

/** A request whose body is under way. */
const incoming = (complete = false) =>
  Object.assign(new PassThrough(), { complete }) as unknown as IncomingMessage & PassThrough;
const tooLong = { message: 'The body is longer than 10 bytes.', extensions: { http: { status: 413 } } };

describe('a body', () => {
  test('is read in its pieces, up to the limit', async () => {
    const request = incoming();
    const reading = readBody(request, 10);
    request.write('12345');
    request.end('67890');
    expect(String(await reading)).toBe('1234567890');
  });

  test('that is longer is refused, and not read on', async () => {
    const request = incoming();
    const reading = readBody(request, 10);
    request.write('12345678901');
    await expect(reading).rejects.toMatchObject(tooLong);
    expect(request.isPaused()).toBe(true);
  });

  test('whose client leaves is not answered', async () => {
    const request = incoming();
    const reading = readBody(request, 10);
    request.destroy();
    await expect(reading).rejects.toBeInstanceOf(ClientDisconnected);
    expect(() => bufferedBody(request, 10)).toThrow(ClientDisconnected);
  });

  test('that has arrived already is taken at once; one that has not is null', () => {
    const request = incoming(true);
    request.end('12345');
    expect(String(bufferedBody(request, 10))).toBe('12345');
    expect(bufferedBody(incoming(), 10)).toBeNull();
    const long = incoming(true);
    long.end('12345678901');
    expect(() => bufferedBody(long, 10)).toThrow(tooLong.message);
  });
});

describe('a gzipped body', () => {
  test.each([
    ['gzip', true],
    ['GZIP', true],
    ['gzip, gzip', false],
    ['br', false],
    [undefined, false],
    [null, false],
  ])('is one whose encoding is gzip: %s', (encoding, expected) => {
    expect(isGzip(encoding)).toBe(expected);
  });

  test('is inflated up to the limit of a plain one, and no further', async () => {
    expect(String(await inflateBody(gzipSync('1234567890'), 10))).toBe('1234567890');
    await expect(inflateBody(gzipSync('12345678901'), 10)).rejects.toMatchObject(tooLong);
    const twice = Buffer.concat([gzipSync('123456'), gzipSync('123456')]);
    await expect(inflateBody(twice, 10)).rejects.toMatchObject(tooLong);
  });

  test.each([
    ['is not gzip', Buffer.from('{"query":"{}"}')],
    ['ends too early', gzipSync('1234567890').subarray(0, 15)],
    ['is empty', Buffer.alloc(0)],
  ])('that %s is refused', async (_what, body) => {
    await expect(inflateBody(body, 10)).rejects.toMatchObject({
      message: 'The body is not gzip, as its Content-Encoding says it is.',
      extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
    });
  });
});
