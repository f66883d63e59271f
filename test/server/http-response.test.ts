import { expect, test } from 'vitest';
import { toHttpResponse } from '../../src/server/http-response.ts';
import { streamOf } from '../../src/server/stream-response.ts';

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
