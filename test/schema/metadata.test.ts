import { expect, test } from 'vitest';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

test('postMetadata is asked once for one id, of any characters, and once for each other', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.on('POST /v1/api/metadata', ({ body }) => ({
    body: { metadata: [{ code: `code of ${body}` }] },
  }));
  const result = await fixture.ask(
    `query ($id: ID!) {
      a: metadata(id: $id) { nodes { code } }
      again: metadata(id: $id, first: 0) { totalCount }
      b: metadata(id: "two") { nodes { code } }
    }`,
    { id: 'ID / with \\ anything ?' },
  );
  const bodies = ['{"id":"ID / with \\\\ anything ?"}', '{"id":"two"}'];
  const [a, b] = bodies.map((body) => ({ nodes: [{ code: `code of ${body}` }] }));
  expect(result).toEqual({ data: { a, again: { totalCount: 1 }, b } });
  expect(fixture.bank.calls.map(({ body }) => body).sort()).toEqual(bodies);
});
