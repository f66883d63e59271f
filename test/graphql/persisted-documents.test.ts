import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'graphql';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import { loadPersistedDocuments, type PersistedDocuments } from '../../src/graphql/persisted-documents.ts';
import { createTestBankql, credentials, type TestBankql } from '../support/bankql.ts';
import { runProcess } from '../support/process.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();

const documentLimits = {
  tokens: 200,
  depth: 5,
  aliases: 3,
  rootFields: 3,
  directives: 3,
  fields: 20,
};
async function load(manifest: unknown, introspection = true): Promise<PersistedDocuments> {
  const file = join(folder, 'manifest.json');
  await writeFile(file, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  return loadPersistedDocuments(file, { documentLimits, introspection });
}

const branches = 'query Branches($bank: ID) { bank(bankId: $bank) { branches { totalCount } } }';
const sum = 'a'.repeat(64);
const pay = (name: string) =>
  `${name}: makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "${name}" }) { payment { trackId } }`;

describe('a manifest', () => {
  test.each<[string, unknown, string]>([
    ['of graphql-codegen’s client preset', { [sum]: branches }, sum],
    ['with the prefix of SHA-256', { [`sha256:${sum}`]: branches }, sum],
    ['of Relay', { '0e7ddc8b35ed': branches }, '0e7ddc8b35ed'],
    [
      'of Apollo',
      {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: sum, body: branches, name: 'Branches', type: 'query' }],
      },
      sum,
    ],
  ])('%s is understood by its content', async (_whose, manifest, id) => {
    const { texts, parsed } = await load(manifest);
    expect([...texts]).toEqual([[id, branches]]);
    expect([...parsed.keys()]).toEqual([branches]);
    // The file is as editors on Windows save it.
    expect([...(await load(`\uFEFF${JSON.stringify(manifest)}\r\n`)).texts]).toEqual([[id, branches]]);
  });

  test.each<[string, unknown, string]>([
    ['no JSON', '{"a":\n', 'JSON'],
    ['a list', [branches], 'neither an object of texts'],
    ['something else than texts', { a: 1 }, 'neither an object of texts'],
    [
      'another version',
      { format: 'apollo-persisted-query-manifest', version: 2, operations: [] },
      'neither an object of texts',
    ],
    ['no document', {}, 'it holds no document.'],
    [
      'two documents with one id',
      { a: branches, 'sha256:a': branches },
      'two documents have the id sha256:a',
    ],
    ['a syntax error', { ok: branches, a: '{ bank {\n\n' }, 'document a: Syntax Error'],
    [
      'two payments',
      { a: `mutation { ${pay('x')} ${pay('y')} }` },
      'document a: An operation may hold one payment',
    ],
  ])('with %s is refused in one line that names the file and the document', async (_what, manifest, why) => {
    const error = await load(manifest).then(
      () => null,
      (reason: unknown) => reason,
    );
    const message = error instanceof Error ? error.message : '';
    expect(message).toContain(`PERSISTED_DOCUMENTS=${join(folder, 'manifest.json')} cannot be used: `);
    expect(message).toContain(why);
    expect(message).not.toContain('\n');
  });

  test('that is not UTF-8 is refused', async () => {
    const file = join(folder, 'manifest.json');
    await writeFile(file, `\uFEFF${JSON.stringify({ a: branches })}`, 'utf16le');
    await expect(loadPersistedDocuments(file, { documentLimits, introspection: true })).rejects.toThrow(
      'cannot be used: it is in UTF-16, or no text: save it in UTF-8.',
    );
  });

  test('may ask for the schema only where requests may', async () => {
    const manifest = { a: '{ __schema { queryType { name } } }' };
    await expect(load(manifest)).resolves.toBeDefined();
    await expect(load(manifest, false)).rejects.toThrow('document a: ');
  });

  test('that is refused stops the start in one line', async () => {
    const { code, output } = await runProcess({ PERSISTED_DOCUMENTS: join(folder, 'nowhere.json') });
    expect(code).toBe(1);
    expect(output).toMatch(
      /^PERSISTED_DOCUMENTS=\S+nowhere\.json cannot be used: the file cannot be read \(ENOENT\): correct the path: docs\/operate\.md names the tools that write a manifest\.\n$/,
    );
  });
});

describe('a folder of manifests', () => {
  let folders = 0;
  const loadAll = async (files: Readonly<Record<string, unknown>>) => {
    const path = join(folder, `apps-${++folders}`);
    await mkdir(path);
    for (const [name, content] of Object.entries(files))
      if (content === null) await mkdir(join(path, name));
      else await writeFile(join(path, name), typeof content === 'string' ? content : JSON.stringify(content));
    return { path, loaded: loadPersistedDocuments(path, { documentLimits, introspection: false }) };
  };
  /** The lines of the refusal, without their common beginning. */
  const refusalOf = async (files: Readonly<Record<string, unknown>>) => {
    const { path, loaded } = await loadAll(files);
    const message = await loaded.then(() => '', messageOf);
    const prefix = `PERSISTED_DOCUMENTS=${path} cannot be used: `;
    return message.split('\n').map((line) => (line.startsWith(prefix) ? line.slice(prefix.length) : line));
  };
  const one = '{ one: __typename }';
  const apollo = {
    format: 'apollo-persisted-query-manifest',
    version: 1,
    operations: [{ id: 'a', body: branches }],
  };

  test('has all documents of all of them, in any of the formats, each with the apps that have it', async () => {
    const { loaded } = await loadAll({
      'ios-4.2.json': { 'sha256:a': branches, b: one },
      'ios-4.1.json': apollo,
      'android-7.JSON': { c: one },
    });
    const { apps, texts, parsed } = await loaded;
    expect(apps).toEqual(['android-7', 'ios-4.1', 'ios-4.2']);
    expect(Object.fromEntries(texts)).toEqual({ a: branches, b: one, c: one });
    expect(Array.from(parsed, ([text, document]) => [text, document.apps])).toEqual([
      [one, ['android-7', 'ios-4.2']],
      [branches, ['ios-4.1', 'ios-4.2']],
    ]);
  });

  test('may have other entries, such as those of Kubernetes', async () => {
    const { loaded } = await loadAll({
      'app-1.json': { a: one },
      '..2026_11_28': null,
      '.json': 'hidden',
      'lost+found': null,
      'README.md': 'x',
    });
    expect((await loaded).apps).toEqual(['app-1']);
  });

  test('is refused if one id has two texts', async () => {
    expect(
      await refusalOf({ 'ios-4.1.json': { a: one, b: branches }, 'ios-4.2.json': { 'sha256:a': branches } }),
    ).toEqual(['ios-4.2.json: document a: it has another text in ios-4.1. An id stands for one document.']);
  });

  test('is refused with a line for each document of each app that the schema refuses', async () => {
    const gone = '{ gone }';
    const cannot = 'Cannot query field "gone" on type "Query".';
    expect(
      await refusalOf({
        'ios-4.1.json': { a: gone, b: one },
        'ios-4.2.json': { a: gone, c: '{' },
        'web.json': [],
        'zero.json': {},
      }),
    ).toEqual([
      `ios-4.1.json: document a: ${cannot}`,
      `ios-4.2.json: document a: ${cannot}`,
      expect.stringMatching(/^ios-4\.2\.json: document c: Syntax Error/),
      expect.stringMatching(/^web\.json: it is neither an object of texts/),
      'zero.json: it holds no document.',
    ]);
  });

  test.each(['several', 'other', 'agents'])('with a manifest %s.json is refused', async (name) => {
    // The log and the metrics could not distinguish the app's operations from those to which bankql gives
    // this name.
    const reason = `give it another name: bankql itself uses "${name}" in the log and the metrics.`;
    expect(await refusalOf({ [`${name}.json`]: { a: one }, 'ios.json': { b: branches } })).toEqual([
      `${name}.json: ${reason}`,
    ]);
  });

  test('without a manifest is refused', async () => {
    const none = ['the folder has no manifest, such as ios-4.2.json.'];
    expect(await refusalOf({})).toEqual(none);
    expect(await refusalOf({ 'ios-4.2.txt': { a: one } })).toEqual(none);
    expect(await refusalOf({ 'ios.json': null })).toEqual([expect.stringMatching(/^ios\.json: .*EISDIR/)]);
  });
});

describe('documents are asked for by their ids', () => {
  let bank: RecordingBank;
  let bankql: TestBankql;
  const start = async (only: boolean, extra: Record<string, string> = {}) => {
    const documents = await load({ [sum]: branches, pay: `mutation { ${pay('k')} }`, ...extra });
    bankql = await createTestBankql({ bankUrl: bank.url, persisted: { documents, only } });
  };
  beforeEach(async () => {
    bank = (await startRecordingBank()).otherwise({ body: { branches: [] } });
    await start(false);
  });
  afterEach(async () => {
    await bankql[Symbol.asyncDispose]();
    await bank.close();
  });

  const post = (body: object) => bankql.fetch(new Request('http://bankql.test/graphql', postOf(body)));
  const get = (search: Record<string, string>) =>
    bankql.fetch(
      new Request(`http://bankql.test/graphql?${new URLSearchParams(search)}`, { headers: credentials }),
    );
  const hashed = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
  const required = {
    errors: [
      expect.objectContaining({
        extensions: { code: 'PERSISTED_DOCUMENT_REQUIRED', retryable: false },
      }),
    ],
  };

  test.each<[string, () => Promise<Response>]>([
    ['documentId', () => post({ documentId: sum, variables: { bank: 'B' } })],
    ['documentId with its prefix', () => post({ documentId: `sha256:${sum}`, variables: { bank: 'B' } })],
    ['sha256Hash', () => post({ extensions: hashed(sum), variables: { bank: 'B' } })],
    [
      'an empty text and a name beside it',
      () => post({ query: '', operationName: 'Branches', documentId: sum, variables: { bank: 'B' } }),
    ],
    ['GET and documentId', () => get({ documentId: sum, variables: '{"bank":"B"}' })],
    ['doc_id, as Relay has it', () => post({ doc_id: sum, variables: { bank: 'B' } })],
    ['doc_id beside a query of null', () => post({ query: null, doc_id: sum, variables: { bank: 'B' } })],
    ['GET and doc_id', () => get({ doc_id: sum, variables: '{"bank":"B"}' })],
    [
      'every name, if all give the same id',
      () =>
        post({ documentId: sum, doc_id: sum, extensions: hashed(`sha256:${sum}`), variables: { bank: 'B' } }),
    ],
    ['GET and sha256Hash', () => get({ extensions: JSON.stringify(hashed(sum)), variables: '{"bank":"B"}' })],
  ])('by %s', async (_how, ask) => {
    for (const only of [false, true]) {
      await bankql[Symbol.asyncDispose]();
      await start(only);
      const answer = await ask();
      expect([answer.status, await answer.json()]).toEqual([
        200,
        { data: { bank: { branches: { totalCount: 0 } } } },
      ]);
    }
    expect(bank.lines()).toEqual(Array(2).fill('GET /v1/api/banks/B/branches'));
  });

  test('an id that is not known is refused before any call', async () => {
    for (const answer of [
      await post({ documentId: 'b'.repeat(64) }),
      await get({ documentId: 'constructor' }),
    ])
      expect([answer.status, await answer.json()]).toEqual([400, required]);
    expect(bank.calls).toEqual([]);
  });

  test('links of Apollo and urql that send an unknown hash learn to send the text, which is not kept', async () => {
    const query = '{ bank(bankId: "B") { branches { totalCount } } }';
    const known = { extensions: hashed(createHash('sha256').update(query).digest('hex')) };
    const asked = async (body: object, accept: string) => {
      const answer = await bankql.fetch(
        new Request('http://bankql.test/graphql', postOf(body, { ...credentials, Accept: accept })),
      );
      return { status: answer.status, body: await answer.json() };
    };
    const notSupported = {
      status: 200,
      body: {
        errors: [
          {
            message: 'PersistedQueryNotSupported',
            extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', retryable: false },
          },
        ],
      },
    };
    const done = { status: 200, body: { data: { bank: { branches: { totalCount: 0 } } } } };
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      expect(await asked(known, accept)).toEqual(notSupported);
      expect(await asked({ query, ...known }, accept)).toEqual(done);
      expect(await asked(known, accept)).toEqual(notSupported);
    }
    const byGet = await get({ extensions: JSON.stringify(hashed('__proto__')) });
    expect([byGet.status, await byGet.json()]).toEqual([200, notSupported.body]);
  });

  test('a mutation is not made by GET, and its variables are checked as ever', async () => {
    expect((await get({ documentId: 'pay' })).status).toBe(405);
    const answer = await post({ documentId: sum, variables: { bank: {} } });
    expect(await answer.text()).toContain('BAD_USER_INPUT');
    expect(bank.calls).toEqual([]);
    expect((await post({ documentId: 'pay' })).status).toBe(200);
    expect(bank.calls).toHaveLength(1);
  });

  test('a text is still served, even one that is in the manifest', async () => {
    expect((await post({ query: '{ __typename }' })).status).toBe(200);
    expect((await post({ query: branches, extensions: hashed('unknown') })).status).toBe(200);
    expect(await (await post({})).text()).toContain('BAD_USER_INPUT');
  });

  test('they are neither parsed nor validated again: what is not GraphQL at all is served as what it was parsed to', async () => {
    const text = 'no GraphQL';
    await using own = await createTestBankql({
      bankUrl: bank.url,
      persisted: {
        documents: {
          texts: new Map([['id', text]]),
          parsed: new Map([[text, { node: parse('{ __typename nowhere }'), apps: ['app'] }]]),
        },
        only: true,
      },
    });
    const answer = await own.fetch(
      new Request('http://bankql.test/graphql?documentId=id', { headers: credentials }),
    );
    expect(await answer.json()).toEqual({ data: { __typename: 'Query' } });
  });

  test.each<[string, object, string]>([
    [
      'documentId and doc_id',
      { documentId: sum, doc_id: 'pay' },
      '"documentId" and "doc_id" differ: send one of them.',
    ],
    [
      'documentId and a hash',
      { documentId: 'pay', extensions: hashed(sum) },
      'The id of the document and extensions.persistedQuery.sha256Hash differ: send one of them.',
    ],
    [
      'doc_id and a hash',
      { doc_id: 'pay', extensions: hashed(sum) },
      'The id of the document and extensions.persistedQuery.sha256Hash differ: send one of them.',
    ],
  ])('two ids are refused: %s', async (_which, body, message) => {
    const search = Object.fromEntries(
      Object.entries(body).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    );
    for (const answer of [await post(body), await get(search)])
      expect([answer.status, await answer.json()]).toEqual([
        400,
        { errors: [{ message, extensions: { code: 'BAD_USER_INPUT', retryable: false } }] },
      ]);
    expect(bank.calls).toEqual([]);
  });

  test('the last of two ids in a URL counts, whatever its name', async () => {
    const statusOf = async (search: string) =>
      (await bankql.fetch(new Request(`http://bankql.test/graphql?${search}`, { headers: credentials })))
        .status;
    for (const name of ['documentId', 'doc_id']) {
      expect(await statusOf(`${name}=other&${name}=${sum}`)).toBe(200);
      expect(await statusOf(`${name}=${sum}&${name}=other`)).not.toBe(200);
    }
  });

  test.each([{ id: sum }, { extensions: { persistedQuery: { version: 1, sha256hash: sum } } }])(
    '%j names no document, and is ignored beside a text',
    async (unknown) => {
      const message = 'A request needs a "query", or the id of a document as "documentId".';
      const answer = await post(unknown);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        { errors: [{ message, extensions: { code: 'BAD_USER_INPUT', retryable: false } }] },
      ]);
      expect((await post({ query: branches, ...unknown })).status).toBe(200);
    },
  );

  describe('and nothing else is, with PERSISTED_ONLY', () => {
    beforeEach(async () => {
      await bankql[Symbol.asyncDispose]();
      await start(true);
    });

    test.each<[string, () => Promise<Response>]>([
      ['a text', () => post({ query: branches })],
      ['a text beside a known id', () => post({ query: '{ __typename }', documentId: sum })],
      ['a text beside a known hash', () => post({ query: '{ __typename }', extensions: hashed(sum) })],
      ['no GraphQL', () => post({ query: '{' })],
      ['the schema', () => post({ query: '{ __schema { queryType { name } } }' })],
      ['a text by GET', () => get({ query: branches })],
      ['nothing', () => post({})],
      ['an unknown id', () => post({ documentId: 'unknown' })],
      ['an unknown hash', () => post({ extensions: hashed('unknown') })],
    ])('%s', async (_what, ask) => {
      const answer = await ask();
      expect([answer.status, await answer.json()]).toEqual([400, required]);
      expect(bank.calls).toEqual([]);
    });
  });
});
