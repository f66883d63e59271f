import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { persist } from '../../src/commands/persist.ts';
import { post, runProcess, startProcess } from '../support/process.ts';
import { runCommand } from '../support/run-command.ts';

let folder = '';
let out = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bankql-persist-'));
  out = join(folder, 'manifest.json');
});
afterEach(() => rm(folder, { recursive: true }));

const run = (args: readonly string[], environment = {}) => runCommand(persist, args, { environment });

async function make(files: Record<string, string>, environment = {}) {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, 'app', file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return run(['--out', out, join(folder, 'app')], environment);
}
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

test('a folder becomes a manifest: each operation with the fragments it uses, whichever file they are in', async () => {
  const { code, output } = await make({
    'screens/branches.graphql': 'query Branches { bank { ...Z } }   # what the first screen shows',
    'screens/both.graphql': 'query One { bank { bankId } } query Two { bank { ...A } }',
    'fragments.graphql':
      'fragment Z on Bank { ...A branches { nodes { ...B } } } fragment A on Bank { bankId } fragment B on Branch { name ...B2 } fragment B2 on Branch { branchId } fragment Unused on Bank { bankId }',
    'notes.txt': 'not a query',
  });
  expect([code, output]).toEqual([0, expect.stringMatching(/3 documents are in .*manifest\.json\.\n$/)]);
  const manifest: Record<string, string> = JSON.parse(await readFile(out, 'utf8'));
  const texts = Object.values(manifest);
  expect(Object.keys(manifest)).toEqual(texts.map(sha256));
  expect(texts.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    'query One { bank { bankId } }',
    'query Two { bank { ...A } } fragment A on Bank { bankId }',
    'query Branches { bank { ...Z } } fragment A on Bank { bankId } fragment B on Branch { name ...B2 } fragment B2 on Branch { branchId } fragment Z on Bank { ...A branches { nodes { ...B } } }',
  ]);
  for (const [index, name] of ['One', 'Two', 'Branches'].entries())
    expect(output).toContain(`${sha256(texts[index] ?? '')}  ${name}  `);
});

test('what it makes is what the server takes', async () => {
  await make({ 'a.graphql': 'query Bank { bank { bankId } }' });
  const [id = ''] = Object.keys(JSON.parse(await readFile(out, 'utf8')));
  await using bankql = await startProcess({ PERSISTED_DOCUMENTS: out, PERSISTED_ONLY: '1' });
  expect(bankql.output()).not.toContain('GraphiQL');
  const answer = await fetch(`${bankql.url}/graphql?documentId=${id}`);
  expect(await answer.json()).toEqual({ data: { bank: { bankId: 'SNDBCY2N' } } });
  expect(await post(bankql.url, '{ bank { bankId } }', {})).toMatchObject({
    errors: [{ extensions: { code: 'PERSISTED_DOCUMENT_REQUIRED' } }],
  });
});

test('files may begin with a byte order mark; in UTF-16 they are refused by name', async () => {
  await make({ 'a.graphql': '\uFEFFquery Bank { bank { bankId } }\r\n' });
  const made = await readFile(out, 'utf8');
  await writeFile(out, `\uFEFF${made.replaceAll('\n', '\r\n')}`);
  expect(await run(['check', out])).toMatchObject({
    code: 0,
    output: expect.stringContaining('of 1 documents'),
  });
  await writeFile(out, Buffer.from(made, 'utf16le'));
  expect((await run(['check', out])).errors).toBe(
    `${out} cannot be read as a manifest: it is in UTF-16, or no text: save it in UTF-8.\n`,
  );
  await writeFile(join(folder, 'app', 'a.graphql'), Buffer.from('query Bank { bank { bankId } }', 'utf16le'));
  expect((await run(['--out', out, join(folder, 'app')])).errors).toBe(
    'a.graphql cannot be used: it is in UTF-16, or no text: save it in UTF-8.\n',
  );
});

/** 17 levels, two more than a query may have. */
const deep = `${'bank { branches { nodes { '.repeat(5)}bank { bankId }${' } } }'.repeat(5)}`;

const pay = (name: string) =>
  `${name}: makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "${name}" }) { payment { trackId } }`;

test('documents that cannot be served are named with their reasons, all of them, and nothing is written', async () => {
  const { code, output } = await make({
    'ok.graphql': 'query Ok { bank { bankId } }',
    'syntax.graphql': 'query Broken { bank {',
    'empty.graphql': 'query Empty { bank { } }',
    'unknown.graphql': 'query Unknown { bnk }',
    'spread.graphql': 'query Spread { bank { ...Nowhere } }',
    'deep.graphql': `query Deep { ${deep} }`,
    'pay.graphql': `mutation Pay { ${pay('a')} ${pay('b')} }`,
    'nameless.graphql': '{ bank { bankId } }',
    'schema.graphql': 'type Query { a: Int }',
    'twice.graphql': 'query Ok { bank { bankId } }',
  });
  expect(code).toBe(1);
  const lines = output.split('\n');
  for (const line of [
    'syntax.graphql: Syntax Error: Expected Name, found <EOF>.',
    'empty.graphql: Syntax Error: Expected Name, found "}".',
    expect.stringMatching(/^unknown\.graphql: Cannot query field "bnk" on type "Query"\./),
    'spread.graphql: Unknown fragment "Nowhere".',
    'deep.graphql: The operation holds 17 levels of fields, and may hold 15; ask for less at a time.',
    expect.stringMatching(/^pay\.graphql: An operation may hold one payment, and this one holds 2/),
    'nameless.graphql: an operation has no name',
    'schema.graphql: it holds something else than operations and fragments',
    'twice.graphql: Ok is the name of another one in ok.graphql',
    expect.stringMatching(/^9 refused; .*manifest\.json is not written\.$/),
  ])
    expect(lines).toContainEqual(line);
  await expect(readFile(out)).rejects.toThrow('ENOENT');
});

test.each<[string, string[], string]>([
  ['no folder', ['--out', 'x.json'], 'Name one folder'],
  ['no file to write', ['.'], 'Name one folder'],
  ['an unknown option', ['--to', 'x.json', '.'], "Unknown option '--to'"],
  ['a folder that is not there', ['--out', 'x.json', '/nowhere-at-all'], 'cannot be read: ENOENT'],
  ['a folder without documents', ['--out', 'x.json', 'bin'], 'holds no .graphql file'],
  ['no manifest to check', ['check'], 'Name the manifests to check'],
  ['one that is not there', ['check', '/nowhere.json'], 'ENOENT'],
  ['one that is no manifest', ['check', 'package.json'], 'it is neither an object of texts'],
  ['an unknown option of the check', ['check', '--strict'], 'There is no option --strict'],
])('%s: one line says what to do', async (_what, args, why) => {
  const { code, output, errors } = await run(args);
  expect([code, output]).toEqual([1, '']);
  expect(errors).toContain(why);
  expect(errors.trimEnd()).not.toContain('\n');
});

async function manifest(name: string, content: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function check(files: readonly string[], environment: Record<string, string> = {}) {
  const { code, output } = await run(['check', ...files], environment);
  return { code, lines: output.trimEnd().split('\n') };
}

test('documents that this version would refuse are named with their reasons, and make it fail', async () => {
  const file = await manifest('mixed.json', {
    good: 'query Good { bank { bankId } }',
    gone: 'query Gone { bank { nickname } }',
    broken: 'query Broken {',
    deep: `query Deep { ${deep} }`,
  });
  expect(await check([file])).toEqual({
    code: 1,
    lines: [
      'gone  Gone: refused: Cannot query field "nickname" on type "Bank".',
      'broken  Broken: refused: Syntax Error: Expected Name, found <EOF>.',
      'deep  Deep: refused: The operation holds 17 levels of fields, and may hold 15; ask for less at a time.',
      `${file}: of 4 documents 3 would be refused, 0 use what is deprecated.`,
    ],
  });
});

test('each of the formats that are served is checked, several manifests at once', async () => {
  const body = 'query Gone { nothing }';
  const apollo = await manifest('apollo.json', {
    format: 'apollo-persisted-query-manifest',
    version: 1,
    operations: [{ id: 'one', body, name: 'Gone', type: 'query' }],
  });
  const plain = await manifest('plain.json', { 'sha256:two': '{ nothing }' });
  const { code, lines } = await check([apollo, plain]);
  expect(code).toBe(1);
  expect(lines.filter((line) => line.includes('refused:'))).toEqual([
    expect.stringMatching(/^one {2}Gone: refused: Cannot query field "nothing"/),
    expect.stringMatching(/^two: refused: Cannot query field "nothing"/),
  ]);
});

test('bankql persist check says it with its exit code, and --help tells of it', async () => {
  const file = await manifest('old.json', { gone: 'query Gone { nothing }' });
  const [checked, help] = await Promise.all([
    runProcess({}, ['persist', 'check', file]),
    runProcess({}, ['persist', '--help']),
  ]);
  expect(checked).toEqual({
    code: 1,
    output: expect.stringContaining(`${file}: of 1 documents 1 would be refused`),
  });
  expect(help).toEqual({ code: 0, output: expect.stringContaining('bankql persist check MANIFEST...') });
});
