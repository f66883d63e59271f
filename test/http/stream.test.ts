import { afterEach, expect, test, vi } from 'vitest';
import { streamOf } from '../../src/http/stream.ts';

/** The framing of several results. incremental-response.test.ts tests them over a socket. */

afterEach(() => void vi.useRealTimers());

const spec = { spec: 'incrementalSpec=v0.2', form: 'v0.2' } as const;
const events = { type: 'text/event-stream', ...spec } as const;
const parts = { type: 'multipart/mixed', ...spec } as const;

/** A source of results that the test provides. */
function source() {
  const { readable, writable } = new TransformStream<string, string>(undefined, { highWaterMark: 10 });
  const writer = writable.getWriter();
  let hasEnded = false;
  async function* results() {
    try {
      for await (const json of readable) yield { hasNext: true, json };
    } finally {
      hasEnded = true;
    }
  }
  return { results: results(), give: (json: string) => void writer.write(json), hasEnded: () => hasEnded };
}

test('a comment is sent every 12 seconds while no event comes, and the next event is not lost', async () => {
  vi.useFakeTimers();
  const { results, give } = source();
  const { chunks } = streamOf(results, events);
  const next = async () => (await chunks.next()).value;
  expect(await next()).toBe(':\n\n');
  for (let time = 0; time < 2; time++) {
    const comment = next();
    await vi.advanceTimersByTimeAsync(12_000);
    expect(await comment).toBe(':\n\n');
  }
  const event = next();
  give('{}');
  expect(await event).toBe('event: next\ndata: {}\n\n');
  expect(vi.getTimerCount()).toBe(0);
});

test('parts have their length in bytes, and no comments', async () => {
  vi.useFakeTimers();
  const { results, give } = source();
  const { chunks } = streamOf(results, parts);
  expect((await chunks.next()).value).toBe('\r\n---');
  const part = chunks.next();
  await vi.advanceTimersByTimeAsync(60_000);
  give('"Ω"');
  expect((await part).value).toBe(
    '\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 4\r\n\r\n"Ω"\r\n---',
  );
});

test('the results end when the reader stops', async () => {
  const { results, give, hasEnded } = source();
  const { chunks } = streamOf(results, events);
  give('{}');
  for await (const chunk of chunks) if (chunk !== ':\n\n') break;
  expect(hasEnded()).toBe(true);
});
