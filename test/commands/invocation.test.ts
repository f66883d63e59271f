import { describe, expect, test } from 'vitest';
import { commands, help, readInvocation, takeEnvFiles } from '../../src/commands/commands.ts';
import { version } from '../../src/version.ts';
import { runCommand } from '../support/run-command.ts';

describe('the words of the command line', () => {
  test.each([
    [[], commands.serve, []],
    [['serve'], commands.serve, []],
    [['doctor', '--account', 'a-1'], commands.doctor, ['--account', 'a-1']],
    [['payments', 'list', '--help'], commands.payments, ['list', '--help']],
    [['config', 'check'], commands.config, ['check']],
    [['sandbox'], commands.sandbox, []],
    [['sandbox', '--describe', '--port', '1'], commands.sandbox, ['--describe', '--port', '1']],
    [['sandbox', '--port', '1'], commands.sandbox, ['--port', '1']],
  ])('%j run a command', (words, command, args) => {
    expect(readInvocation(words)).toEqual({ command, args });
  });

  test.each([
    [['--version'], `bankql ${version}, Node ${process.versions.node}\n`],
    [['-v'], `bankql ${version}, Node ${process.versions.node}\n`],
    [['help'], help()],
    [['--help'], help()],
    [['-h'], help()],
    [['serve', '--help'], commands.serve.help],
    [['help', 'config'], commands.config.help],
    [['help', 'doctor'], commands.doctor.help],
    [['doctor', '--account', 'a-1', '--help'], commands.doctor.help],
  ])('%j ask for words', (words, asked) => {
    expect(readInvocation(words)).toEqual(asked);
  });

  test.each([
    [['servee'], 'bankql knows no command "servee", only serve, sandbox, doctor, '],
    [['constructor'], 'bankql knows no command "constructor", only serve, '],
  ])('%j are refused', (words, message) => {
    expect(() => readInvocation(words)).toThrow(message);
  });

  test.each([
    ['serve', 'constructor'],
    ['serve', '--describe'],
    ['schema', 'x'],
    ['sandbox', 'x'],
  ] as const)('%s takes no %s', async (name, word) => {
    const { code, errors } = await runCommand((context) => commands[name].run(context), [word]);
    expect([code, errors]).toEqual([1, expect.stringContaining(word)]);
    expect(errors).toMatch(new RegExp(`See bankql ${name} --help\\.\n$`));
  });

  test('each command that takes words of its own says how it is used, with an example', () => {
    for (const [name, { help }] of Object.entries(commands)) {
      if (help === null) continue;
      expect(help).toMatch(new RegExp(`^usage: bankql \\[?${name}`));
      expect(help).toMatch(/\n {2}\S?.*bankql/);
    }
  });
});

test.each([
  [['--env-file', 'a.env', 'doctor'], ['a.env'], ['doctor']],
  [
    ['doctor', '--env-file=a.env', '--env-file', 'b.env', '--view', 'owner'],
    ['a.env', 'b.env'],
    ['doctor', '--view', 'owner'],
  ],
])('of %j the files are taken out', (words, envFiles, others) => {
  expect(takeEnvFiles(words)).toEqual({ envFiles, words: others });
});

test.each([[['--env-file']], [['--env-file=']]])('%j names no file', (words) => {
  expect(() => takeEnvFiles(words)).toThrow('--env-file needs the name of a file');
});
