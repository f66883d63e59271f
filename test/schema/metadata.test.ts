import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { metadataRecord } from '../support/full-records.ts';

const WholeMetadata = graphql(`
  query WholeMetadata($id: ID!) {
    metadata(id: $id) { totalCount nodes { metadataId code postedBy text { name } } }
  }
`);

const wholeEntry = {
  metadataId: 'metadata-id',
  code: 'code',
  postedBy: 'posted-by',
  text: { name: 'text-name' },
};

describe('postMetadata', () => {
  test('answers every field from its own place, and null for what is left out', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('POST /v1/api/metadata', { body: { metadata: [metadataRecord, { code: 'C' }] } });
    const result = await fixture.ask(WholeMetadata, { id: 'ID / with \\ anything ?' });
    const least = { metadataId: null, code: 'C', postedBy: null, text: null };
    expect(result).toEqual({ data: { metadata: { totalCount: 2, nodes: [wholeEntry, least] } } });
    expect(fixture.bank.lines()).toEqual(['POST /v1/api/metadata']);
    expect(onlyCall(fixture.bank).body).toBe('{"id":"ID / with \\\\ anything ?"}');
  });

  test('is asked once for one id, and once for each other', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('POST /v1/api/metadata', ({ body }) => ({
      body: { metadata: [{ code: `code of ${body}` }] },
    }));
    const TwoMetadataIds = graphql(`
      query TwoMetadataIds {
        a: metadata(id: "one") { nodes { code } }
        again: metadata(id: "one", first: 0) { totalCount }
        b: metadata(id: "two") { nodes { code } }
      }
    `);
    const result = await fixture.ask(TwoMetadataIds);
    expect(result).toEqual({
      data: {
        a: { nodes: [{ code: 'code of {"id":"one"}' }] },
        again: { totalCount: 1 },
        b: { nodes: [{ code: 'code of {"id":"two"}' }] },
      },
    });
    expect(fixture.bank.calls.map(({ body }) => body).sort()).toEqual(['{"id":"one"}', '{"id":"two"}']);
  });
});
