import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileCache } from '../support/compile-cache.ts';
import { entry } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

/** Files of variables. bankql reads them, or Node reads them before bankql starts. */

const folder = testFolder();
const file = join(folder, 'some.env');

/** The output of `bankql check`, and its exit code. */
function check(nodeArgs: readonly string[], args: readonly string[], env: object = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, entry(), 'check', ...args], {
    env: { ...compileCache, ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const ways: readonly (readonly [string, string[], string[]])[] = [
  ['bankql', [], ['--env-file', file]],
  ['Node', [`--env-file=${file}`], []],
];

test.each(ways)('a byte order mark in a file that %s reads hides no variable', (_who, nodeArgs, args) => {
  writeFileSync(file, '\uFEFFBANK_ID=app\r\nPORT=4705\r\n');
  const { status, stdout } = check(nodeArgs, args);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^ {2}BANK_ID=app /m);
  expect(stdout).toMatch(/^ {2}PORT=4705 /m);
});

test.each(ways)('a file in UTF-16 that %s reads is refused', (_who, nodeArgs, args) => {
  writeFileSync(file, Buffer.from('\uFEFFBANK_ID=app\r\nPORT=4705\r\n', 'utf16le'));
  const { status, stderr } = check(nodeArgs, args);
  expect(stderr).toBe(`--env-file ${file} cannot be used: it is in UTF-16, or no text: save it in UTF-8.\n`);
  expect(status).toBe(1);
});

test('a name with a mark that somebody else made of a file is refused, in one line that a terminal shows as it is', () => {
  const { status, stderr } = check([], [], { '\uFEFFBANK_ID': 'app', PORT: '47\r05' });
  expect(status).toBe(1);
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^PORT=47\\r05 cannot be used: give a whole number/),
    expect.stringMatching(/^\\u\{feff\}BANK_ID=… cannot be used: take away what cannot be seen/),
    '',
  ]);
});
