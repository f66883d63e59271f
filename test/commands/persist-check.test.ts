import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { persist } from '../../src/commands/persist.ts';
import { runProcess } from '../support/process.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bankql-persist-check-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function manifest(name: string, content: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function check(files: readonly string[], environment: Record<string, string> = {}) {
  let output = '';
  const write = (text: string) => {
    output += text;
  };
  const code = await persist({ environment, args: ['check', ...files], write });
  return { code, lines: output.trimEnd().split('\n') };
}

test('documents that this version would refuse are named with their reasons, and make it fail', async () => {
  const file = await manifest('mixed.json', {
    good: 'query Good { bank { bankId } }',
    gone: 'query Gone { bank { nickname } }',
    broken: 'query Broken {',
    deep: 'query Deep { bank { branches { nodes { bank { bankId } } } } }',
  });
  expect(await check([file], { LIMIT_DEPTH: '4' })).toEqual({
    code: 1,
    lines: [
      'gone  Gone: refused: Cannot query field "nickname" on type "Bank".',
      'broken  Broken: refused: Syntax Error: Expected Name, found <EOF>.',
      'deep  Deep: refused: The operation holds 5 levels of fields, and may hold 4; ask for less at a time.',
      `${file}: of 4 documents 3 would be refused, 0 use what is deprecated.`,
    ],
  });
});

test('uses of what is deprecated are told, and do not make it fail', async () => {
  const file = await manifest('deprecated.json', {
    put: 'mutation Put { putBranch(input: { branchId: "B", branch: { acceptsDeposits: true, bank: "A" } }) { trackId } }',
  });
  expect(await check([file])).toEqual({
    code: 0,
    lines: [
      'put  Put: deprecated: The input field BranchInput.bank is deprecated. Renamed to `bankName`, as it is called where it is read.',
      `${file}: of 1 documents 0 would be refused, 1 use what is deprecated.`,
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

test.each<[string, string | undefined, string]>([
  ['no manifest', undefined, 'Name the manifests to check'],
  ['one that is not there', '/nowhere.json', 'ENOENT'],
  ['an unknown option', '--strict', 'There is no option --strict'],
])('%s: one line says what to do', async (_what, file, why) => {
  await expect(check(file === undefined ? [] : [file])).rejects.toThrow(why);
});

test('what is no manifest is said in one line', async () => {
  await expect(check([await manifest('list.json', '[]')])).rejects.toThrow(
    /^.*list\.json cannot be read as a manifest: it is neither an object of texts/,
  );
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
