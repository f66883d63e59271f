import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { freePort } from '../support/loopback.ts';
import { patience } from '../support/process.ts';
import { runCommand } from '../support/run-command.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/sandbox.md'), 'utf8');

const codeOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? expect.fail('no code');

test('the code of the page starts bankql with a sandbox bank, and stops both', async () => {
  const port = await freePort();
  const code = codeOf('ts')
    .replace("'bankql'", JSON.stringify(join(root, 'src/index.ts')))
    .replaceAll('4010', String(port))
    .replace('environment: {', `environment: { ...${JSON.stringify(patience)},`);
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code]);
  // Lines of the log are between these lines.
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('{"level"')),
  ).toEqual([
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    '{"data":{"bank":{"branches":{"nodes":[{"name":"Λευκωσία Κεντρικό"}]}}}}',
  ]);
});

test('the command of the page starts a sandbox bank', async () => {
  const words = codeOf('sh').trim().split(' ');
  expect([words.shift(), words.shift()]).toEqual(['bankql', 'sandbox']);
  const { code, output } = await runCommand(['sandbox', ...words, `--port=${await freePort()}`]);
  if (typeof code === 'number') return expect.fail(output);
  await code.stop();
  expect(output).toContain('The sandbox bank answers at http://127.0.0.1:');
});

test('the faults of the page can be set', async () => {
  await using sandbox = await startSandbox({ port: 0 });
  const bodies = [...page.matchAll(/sandbox\/faults -d '(.*)'/g)].map(([, body]) => body ?? '');
  expect(bodies).toHaveLength(3);
  for (const body of bodies)
    expect((await fetch(`${sandbox.url}/sandbox/faults`, { method: 'PUT', body })).status).toBe(200);
});
