import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { commands } from '../../src/commands/commands.ts';
import { openSandbox } from '../../src/commands/sandbox.ts';
import { runCommand } from '../support/run-command.ts';
import { testFolder } from '../support/test-folder.ts';

const oldDatabase = join(testFolder(), 'old.db');
const db = new DatabaseSync(oldDatabase);
db.exec('PRAGMA user_version = 1');
db.close();

test.each([
  ['faults', 'rain', /^SANDBOX_FAULTS=rain cannot be used: "rain": it is neither/],
  ['scenario', 'nothing', /^SANDBOX_SCENARIO=nothing cannot be used: give standard, empty, bad-day, or/],
  [
    'database',
    oldDatabase,
    /^SANDBOX_DB=.*old\.db cannot be used: it is no sandbox database of version 2, but of version 1: /,
  ],
])(
  '%s that cannot be used stop the start, in one line that says what to do',
  async (option, value, message) => {
    const start = openSandbox({ port: 0, database: ':memory:', latencyMs: 0, [option]: value });
    await expect(start).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(message),
    });
  },
);

/** What `bankql sandbox --describe` writes. */
const describe = (environment: Record<string, string>, args: readonly string[] = []) =>
  runCommand(commands.sandbox.run, ['--describe', ...args], { environment });

test('takes a port that bankql itself would take', async () => {
  const { output } = await describe({ METRICS_PORT: '4711' }, ['--port', '4000']);
  expect(output).toContain('127.0.0.1:4000');
  expect((await describe({ METRICS_PORT: '4711' }, ['--port', '4711'])).code).toBe(0);
});

test('options say what its variables said, and stand before them', async () => {
  const { output } = await describe({ SANDBOX_PORT: '4711' }, ['--port', '4712', '--scenario=empty']);
  expect(output).toContain('http://127.0.0.1:4712/sandbox/reset');
  expect((await describe({}, ['--rain', '1'])).errors).toContain("Unknown option '--rain'");
  expect((await describe({}, ['--port'])).errors).toContain('argument missing');
});

test.each([
  [['--latency', 'x'], {}, '--latency=x cannot be used: give a whole number from 0 to'],
  [['--port=abc'], { SANDBOX_PORT: '4711' }, '--port=abc cannot be used: give a whole number from 0 to'],
  [['--scenario', 'nothing'], {}, '--scenario=nothing cannot be used: give standard'],
  [['--port', '4712'], { SANDBOX_NOW: 'later' }, 'SANDBOX_NOW=later cannot be used'],
])('a value that cannot be used is named as it was given: %j %j', async (args, environment, message) => {
  expect((await describe(environment, args)).errors.startsWith(message)).toBe(true);
});

test('--describe prints who is there, by the variables that the sandbox starts with', async () => {
  const { code, output } = await describe({ SANDBOX_PORT: '4711', SANDBOX_SCENARIO: 'empty' });
  expect(code).toBe(0);
  expect(output).toContain('http://127.0.0.1:4711/sandbox/reset');
  expect(output).toContain('omar-current    current 0.00 EUR');
  const { errors } = await describe({ SANDBOX_SCENARIO: 'nothing' });
  expect(errors).toContain('SANDBOX_SCENARIO=nothing cannot');
});
