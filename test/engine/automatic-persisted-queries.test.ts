import { createHash } from 'node:crypto';
import { parse } from 'graphql';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestBankql, credentials, type TestBankql } from '../support/bankql.ts';
import { documented } from '../support/documented.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';

/** Clients that send the hash of a text first: they learn to send the text, and documents of a manifest are found by it. */

const query = '{ bank { branches { totalCount } } }';
const hashed = (sha256Hash: unknown) => ({ persistedQuery: { version: 1, sha256Hash } });
const known = hashed(createHash('sha256').update(query).digest('hex'));

let bank: RecordingBank;
let bankql: TestBankql;
beforeAll(async () => {
  bank = await startRecordingBank();
  bank.otherwise({ body: { branches: [] } });
});
afterAll(() => bank.close());
afterEach(() => bankql[Symbol.asyncDispose]());

async function post(body: object, accept = 'application/json') {
  const answer = await bankql.fetch(
    new Request('http://bankql.test/graphql', postOf(body, { ...credentials, Accept: accept })),
  );
  return { status: answer.status, body: await answer.json() };
}
async function get(search: Record<string, string>) {
  const url = `http://bankql.test/graphql?${new URLSearchParams(search)}`;
  const answer = await bankql.fetch(new Request(url, { headers: credentials }));
  return { status: answer.status, body: await answer.json() };
}
/** With a status of success and these words, links go on with the text. */
const notSupported = {
  status: 200,
  body: {
    errors: [
      {
        message: 'PersistedQueryNotSupported',
        extensions: documented({ code: 'PERSISTED_QUERY_NOT_SUPPORTED', retryable: false }),
      },
    ],
  },
};
const done = { status: 200, body: { data: { bank: { branches: { totalCount: 0 } } } } };

test.each(['application/json', 'application/graphql-response+json'])(
  'a hash alone is not supported, and a text beside it is served: %s',
  async (accept) => {
    bankql = await createTestBankql({ bankUrl: bank.url });
    expect(await post({ extensions: known }, accept)).toEqual(notSupported);
    expect(await post({ query, extensions: known }, accept)).toEqual(done);
    // It is not kept.
    expect(await post({ extensions: known }, accept)).toEqual(notSupported);
    expect(await get({ extensions: JSON.stringify(known) })).toEqual(notSupported);
  },
);

test('a document of the manifest is found by its id, which need not be its hash', async () => {
  const documents = { texts: new Map([['id-1', query]]), parsed: new Map([[query, parse(query)]]) };
  bankql = await createTestBankql({ bankUrl: bank.url, persisted: { documents, only: false } });
  expect(await post({ extensions: hashed('id-1') })).toEqual(done);
  expect(await get({ extensions: JSON.stringify(hashed('id-1')) })).toEqual(done);
  for (const other of ['ID-1', '__proto__', 7])
    expect(await post({ extensions: hashed(other) })).not.toMatchObject({ body: { data: {} } });
  expect(await post({ extensions: known })).toEqual(notSupported);
});
