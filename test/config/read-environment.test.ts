import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { resolveEnvironment } from '../../src/config/environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'bankql-environment-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

test('the environment comes first, then the last of the files; an empty variable counts as unset', () => {
  const first = fileWith('first.env', 'PORT=1\nHOST=first\nBANK_ID="A B"\n');
  const second = fileWith('second.env', '# a remark\nHOST=second\n');
  const { environment, sources } = resolveEnvironment({ PORT: '2', BANK_ID: '' }, [first, second]);
  expect(environment).toEqual({ PORT: '2', HOST: 'second', BANK_ID: 'A B' });
  expect(Object.fromEntries(sources)).toEqual({ HOST: second, BANK_ID: first });
});

const stateUrl = `postgres://bankql:${'secret'}@127.0.0.1:5432/bankql`;

test('a secret is read from its file, without the line break at its end', () => {
  const key = fileWith('key', 'k-1\n');
  const url = fileWith('url', stateUrl);
  const { environment, sources } = resolveEnvironment(
    { BANK_SUBSCRIPTION_KEY_FILE: key, STATE_URL_FILE: url },
    [],
  );
  expect(environment).toMatchObject({
    BANK_SUBSCRIPTION_KEY: 'k-1',
    STATE_URL: stateUrl,
  });
  expect(sources.get('BANK_SUBSCRIPTION_KEY')).toBe(key);
  // The names of the files are known, and are no misspelled ones.
  expect(readConfig(environment)).toMatchObject({ subscriptionKey: 'k-1' });
});

test.each([
  [
    'both are set',
    { BANK_SUBSCRIPTION_KEY: 'k' },
    'k-2',
    'BANK_SUBSCRIPTION_KEY is set too: leave one of them out.',
  ],
  ['the file is empty', {}, '\n', 'the file is empty.'],
  ['there is no file', {}, null, 'the file cannot be read: ENOENT.'],
])('where %s the start says so', (_what, own, text, remedy) => {
  const file = text === null ? join(folder, 'none') : fileWith('secret', text);
  expect(() => resolveEnvironment({ ...own, BANK_SUBSCRIPTION_KEY_FILE: file }, [])).toThrow(
    `BANK_SUBSCRIPTION_KEY_FILE=${file} cannot be used: ${remedy}`,
  );
});

test('a line without = is refused, and not repeated; values of several lines and comments are fine', () => {
  const bad = fileWith('bad.env', '# a remark\nPORT=1\ntop-secret\n');
  const read = () => resolveEnvironment({}, [bad]);
  expect(read).toThrow(`--env-file ${bad}, line 3: give NAME=value`);
  expect(read).not.toThrow('top-secret');
  const good = fileWith('good.env', '  # a remark\nBANK_ID="A\nB"\n\nexport PORT=1\n');
  expect(resolveEnvironment({}, [good]).environment).toMatchObject({ BANK_ID: 'A\nB', PORT: '1' });
});

test('a file of variables that cannot be read is named', () => {
  const file = join(folder, 'none.env');
  expect(() => resolveEnvironment({}, [file])).toThrow(`--env-file ${file} cannot be read: ENOENT.`);
});
