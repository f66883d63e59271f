import { spawnSync } from 'node:child_process';
import { linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { followPage } from '../support/followed-page.ts';
import { testFolder } from '../support/test-folder.ts';

const folder = testFolder();

test('docs/quick-start.md gives the answers that it shows, from the first query to an app with types', async () => {
  const { file, executed, replaced } = await followPage('quick-start.md');
  await expect(executed).toMatchFileSnapshot(file);
  expect(executed).toContain('"replayed": true');
  expect(executed).toContain('Everyday 4293.30 EUR');
  expect(executed.match(/Paid\. Your balance is 4273\.30 EUR\./g)).toHaveLength(2);
  // .ci/run runs the first block; the second installs from a registry.
  expect(replaced).toEqual([
    expect.stringContaining('npm ci\nnpm start\n'),
    expect.stringContaining('npm install ../bankql\n'),
  ]);
});

test('the storage of docs/quick-start.md loses no key', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/quick-start.md'), 'utf8');
  const [imports = ''] = /^import .* from 'node:fs';$/m.exec(page) ?? [];
  const [storage = ''] = /^const read = [\s\S]*?(?=^const payments)/m.exec(page) ?? [];
  const keys = join(folder, 'keys.json');
  const run = (code: string) => {
    const script = `${imports}\n${storage}\n${code}`;
    const args = [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module-typescript',
      '--eval',
      script,
    ];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return [status, stdout];
  };

  expect(run(`console.log(storage.getItem('a')); storage.setItem('a', '1')`)).toEqual([0, 'null\n']);
  // A file that is overwritten in place is empty for a moment. If the process is killed at this moment, all keys are lost.
  linkSync(keys, join(folder, 'old.json'));
  expect(run(`storage.setItem('b', '2'); console.log(storage.getItem('a'))`)).toEqual([0, '1\n']);
  expect(readFileSync(join(folder, 'old.json'), 'utf8')).toBe('{"a":"1"}');
  expect(run(`storage.removeItem('a')`)).toEqual([0, '']);
  expect(readFileSync(keys, 'utf8')).toBe('{"b":"2"}');
  expect(readdirSync(folder).sort()).toEqual(['keys.json', 'old.json']);

  // An invalid file must not count as a file without keys, because a payment with a new key would be made again.
  writeFileSync(keys, '{"b":');
  for (const code of [`storage.getItem('b')`, `storage.setItem('c', '3')`])
    expect(run(code)).toEqual([1, '']);
  expect(readFileSync(keys, 'utf8')).toBe('{"b":');
});
