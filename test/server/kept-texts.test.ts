import { expect, test } from 'vitest';
import { createDocumentCache } from '../../src/engine/documents.ts';
import { authenticateByHeaders } from '../../src/server/auth/header-credentials.ts';
import { createRateLimiter } from '../../src/server/rate-limit/rate-limiter.ts';
import { parseUrlParams } from '../../src/server/request.ts';
import { readTraceparent } from '../../src/telemetry/tracing.ts';
import { testOptions } from '../support/bankql.ts';
import { keptMegabytes } from '../support/memory.ts';

/** What outlives a request, such as a span or a count of its caller, keeps nothing else of what the client sent. */

/** How many texts are kept in each test, and how long the text of each request is: 12 MB together. */
const count = 400;
const padding = 'x'.repeat(30_000);

/** What the values keep in memory, in megabytes. */
async function megabytesOf<T>(make: (index: number) => T): Promise<{ values: readonly T[]; kept: number }> {
  const values = [make(count)];
  const before = await keptMegabytes();
  for (let index = 0; index < count; index++) values.push(make(index));
  return { values, kept: (await keptMegabytes()) - before };
}

/** A text as a socket brings it: in one piece. */
const received = (text: string) => Buffer.from(text).toString();

test('the name of an operation keeps nothing of its document, and little of a long name', async () => {
  const options = await testOptions({ bankUrl: 'http://127.0.0.1:9' });
  const operationsOf = createDocumentCache({ ...options, documentCacheBytes: 1 });
  const nameOf = (text: string) => operationsOf(received(text)).find(null).name;
  const { values, kept } = await megabytesOf((index) =>
    nameOf(`query OneOfManyOperations${index} { __typename } #${padding}`),
  );
  expect(values.at(-1)).toBe(`OneOfManyOperations${count - 1}`);
  expect(kept).toBeLessThan(4);
  expect(nameOf(`query ${padding} { __typename }`)).toBe('x'.repeat(100));
});

test('the parent of a span keeps nothing of what follows it in its header', async () => {
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const { values, kept } = await megabytesOf((index) =>
    readTraceparent(received(`01-${traceId}-${spanId}-01-${index}${padding}`), undefined),
  );
  expect(values.at(-1)).toMatchObject({ traceId, spanId });
  expect(kept).toBeLessThan(4);
});

test('what the URL of a GET asks for keeps nothing of the rest of the URL', async () => {
  const { values, kept } = await megabytesOf((index) =>
    parseUrlParams(received(`/graphql?query={viewerOfMany${index}}&other=${padding}`)),
  );
  expect(values.at(-1)).toMatchObject({ query: `{viewerOfMany${count - 1}}` });
  expect(kept).toBeLessThan(4);
});

test('a count of the calls of a caller whose key is in the URL keeps nothing of the rest of the URL', async () => {
  const authenticate = authenticateByHeaders(null);
  const limiter = createRateLimiter({ calls: 10, seconds: 3600 });
  const { kept } = await megabytesOf((index) => {
    const url = received(`/graphql?subscription-key=one-of-many-keys-${index}&other=${padding}`);
    const caller = authenticate({ url, rawHeaders: [] }, 'peer 127.0.0.1');
    if (caller instanceof Promise) throw new Error('it takes no time');
    void limiter.take(caller, 'getBranches');
  });
  expect(kept).toBeLessThan(4);
});
