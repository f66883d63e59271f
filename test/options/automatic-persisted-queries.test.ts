import { createHash } from 'node:crypto';
import { parse } from 'graphql';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createAutomaticPersistedQueries } from '../../src/options/persisted-documents.ts';
import { createTestBankql, credentials, type TestBankql } from '../support/bankql.ts';
import { documented } from '../support/documented.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';

const query = '{ bank { branches { totalCount } } }';
const twoPayments = ['a', 'b']
  .map(
    (key) =>
      `${key}: makeTransaction(input: { accountId: "A", to: {}, value: { amount: "1" }, idempotencyKey: "${key}" }) { payment { trackId } }`,
  )
  .join(' ');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hashed = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
const known = hashed(sha256(query));

let bank: RecordingBank;
let bankql: TestBankql;
beforeAll(async () => {
  bank = await startRecordingBank();
  bank.otherwise({ body: { branches: [] } });
});
afterAll(() => bank.close());
afterEach(async () => {
  await bankql[Symbol.asyncDispose]();
  bank.calls.length = 0;
});

const start = async (automatic: ReturnType<typeof createAutomaticPersistedQueries> | null) => {
  bankql = await createTestBankql({ bankUrl: bank.url, automatic });
};
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
const missing = (code: string, message: string) => ({
  status: 200,
  body: { errors: [{ message, extensions: documented({ code, retryable: false }) }] },
});
const notFound = missing('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
const notSupported = missing('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
const done = { status: 200, body: { data: { bank: { branches: { totalCount: 0 } } } } };

test('a text is kept when it comes with its hash, and then asked for by that alone', async () => {
  await start(createAutomaticPersistedQueries({ bytes: 1_000_000 }));
  expect(await post({ extensions: known })).toEqual(notFound);
  expect(await get({ extensions: JSON.stringify(known) })).toEqual(notFound);
  expect(await post({ query, extensions: known })).toEqual(done);
  expect(await post({ extensions: known })).toEqual(done);
  expect(await get({ extensions: JSON.stringify(known) })).toEqual(done);
});

test.each(['application/json', 'application/graphql-response+json'])(
  'without APQ a hash alone is not supported, and a text beside it is served: %s',
  async (accept) => {
    await start(null);
    expect(await post({ extensions: known }, accept)).toEqual(notSupported);
    expect(await post({ query, extensions: known }, accept)).toEqual(done);
    expect(await post({ query, extensions: hashed('no matter') }, accept)).toEqual(done);
  },
);

test('a hash that is not the text’s is refused, and a text that is refused is not kept', async () => {
  await start(createAutomaticPersistedQueries({ bytes: 1_000_000 }));
  const wrong = await post({ query, extensions: hashed(sha256('another')) });
  expect(wrong).toMatchObject({
    status: 400,
    body: { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] },
  });
  expect(await post({ extensions: hashed(sha256('another')) })).toEqual(notFound);
  const invalid = '{ nowhere }';
  await post({ query: invalid, extensions: hashed(sha256(invalid)) });
  expect(await post({ extensions: hashed(sha256(invalid)) })).toEqual(notFound);
});

test.each([
  ['too deep', `{ ${'a { '.repeat(20)}b${' }'.repeat(20)} }`],
  ['of too many tokens', `{ ${'bank '.repeat(2001)}}`],
  ['of two payments', `mutation { ${twoPayments} }`],
])('a text that is %s is refused, and not kept', async (_what, text) => {
  const automatic = createAutomaticPersistedQueries({ bytes: 1_000_000 });
  await start(automatic);
  const refused = await post({ query: text, extensions: hashed(sha256(text)) });
  expect([refused.status, refused.body.errors[0].extensions.code]).toEqual([400, expect.any(String)]);
  expect(automatic.get(sha256(text))).toBeUndefined();
  expect(bank.calls).toEqual([]);
});

test.each<[string, unknown]>([
  ['no text', 7],
  ['in capitals', sha256(query).toUpperCase()],
  ['with a prefix', `sha256:${sha256(query)}`],
  ['a name that every object has', '__proto__'],
])('a hash that is %s finds nothing', async (_what, sha256Hash) => {
  await start(createAutomaticPersistedQueries({ bytes: 1_000_000 }));
  await post({ query, extensions: known });
  const asked = await post({ extensions: { persistedQuery: { version: 1, sha256Hash } } });
  expect(asked.body.errors[0].extensions.code).toMatch(/^(BAD_USER_INPUT|PERSISTED_QUERY_NOT_FOUND)$/);
  expect(asked.body.data).toBeUndefined();
});

test('a GET that has both the text and its hash has it kept too', async () => {
  await start(createAutomaticPersistedQueries({ bytes: 1_000_000 }));
  expect(await get({ query, extensions: JSON.stringify(known) })).toEqual(done);
  expect(await post({ extensions: known })).toEqual(done);
});

test('a document of the manifest is found by its id beside APQ, which need not be its hash', async () => {
  const documents = { texts: new Map([['id-1', query]]), parsed: new Map([[query, parse(query)]]) };
  bankql = await createTestBankql({
    bankUrl: bank.url,
    persisted: { documents, only: false },
    automatic: createAutomaticPersistedQueries({ bytes: 1_000_000 }),
  });
  expect(await post({ extensions: hashed('id-1') })).toEqual(done);
  expect(await get({ extensions: JSON.stringify(hashed('id-1')) })).toEqual(done);
  expect(await post({ extensions: known })).toEqual(notFound);
});

test('a kept text of a mutation is not run by GET', async () => {
  await start(createAutomaticPersistedQueries({ bytes: 1_000_000 }));
  const mutation =
    'mutation { putBranch(input: { branchId: "B", branch: { acceptsDeposits: true } }) { trackId } }';
  const extensions = hashed(sha256(mutation));
  await post({ query: mutation, extensions });
  expect((await get({ extensions: JSON.stringify(extensions) })).status).toBe(405);
});

test('what is kept is bounded by entries and by bytes; the least recently used goes first', () => {
  const few = createAutomaticPersistedQueries({ entries: 2, bytes: 10_000 });
  few.set('a', 'text a');
  few.set('b', 'text b');
  few.get('a');
  few.set('c', 'text c');
  expect(['a', 'b', 'c'].map((hash) => few.get(hash))).toEqual(['text a', undefined, 'text c']);
  const small = createAutomaticPersistedQueries({ entries: 100, bytes: 10_000 });
  for (const hash of ['a', 'b', 'c']) small.set(hash, 'x'.repeat(2000));
  expect(['a', 'b', 'c'].map((hash) => small.get(hash) === undefined)).toEqual([true, false, false]);
  small.set('long', 'x'.repeat(10_000));
  expect(small.get('long')).toBeUndefined();
});
