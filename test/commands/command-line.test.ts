import { describe, expect, test } from 'vitest';
import type { CliCommand } from '../../src/commands/command.ts';
import { readCommandLine, takeEnvFiles } from '../../src/commands/command-line.ts';
import { commands } from '../../src/commands/commands.ts';
import { variableNames } from '../../src/config/variables.ts';
import { version } from '../../src/version.ts';
import { runCommand } from '../support/run-command.ts';

const rows = Object.entries<CliCommand>(commands);

describe('help has two levels', () => {
  test.each([[['help']], [['--help']], [['-h']]])('%j lists every command, and no variable', (words) => {
    const screen = String(readCommandLine(words));
    for (const [name, { summary }] of rows)
      expect(screen).toMatch(new RegExp(`^ {2}${name} +${summary.slice(0, 20)}`, 'm'));
    expect(screen).toContain('help settings');
    // In the help of variables, a line begins with the variable's name.
    for (const name of variableNames) expect(screen).not.toMatch(new RegExp(`^ *${name} \\(`, 'm'));
    // The help fits into a terminal.
    expect(screen.split('\n').length).toBeLessThanOrEqual(30);
  });

  test('help settings lists every variable', () => {
    const screen = String(readCommandLine(['help', 'settings']));
    for (const name of variableNames) expect(screen).toContain(`\n  ${name} (`);
  });

  test.each(rows)('of %s says how it is used, with each option and an example', (name, { options }) => {
    const words = name.split(' ');
    const text = String(readCommandLine(['help', ...words]));
    expect(text).toBe(readCommandLine([...words, '--help']));
    expect(text).toBe(readCommandLine([...words, '-h']));
    expect(text).toMatch(new RegExp(`^usage: bankql \\[?${name}\\]? .*\n`));
    for (const option of Object.keys(options))
      expect(text).toMatch(new RegExp(`^ {2}--${option} .*\\S`, 'm'));
    expect(text).toMatch(new RegExp(`\n {2}\\S?.*bankql(?: ${name})?[^\n]*\n$`));
  });

  test.each([[['help', 'payments']], [['payments', '--help']]])('%j lists what can be done', (words) => {
    const text = String(readCommandLine(words));
    for (const [name] of rows.filter(([each]) => each.startsWith('payments ')))
      expect(text).toContain(`\n  ${name} `);
  });

  test.each([[['--version']], [['-v']], [['version']]])('%j prints versions', (words) => {
    expect(readCommandLine(words)).toBe(`bankql ${version}, Node ${process.versions.node}\n`);
  });
});

describe('a command line that cannot be used ends with 2: first what is wrong, then how it is used', () => {
  test.each<[string, string]>([
    ['servee', 'bankql has no command "servee". Did you mean bankql serve?\nusage: bankql [command]'],
    ['constructor', 'bankql has no command "constructor".\nusage: '],
    ['payments setle', 'bankql has no command "payments setle". Did you mean bankql payments settle?\n'],
    ['settle 4f8c21', 'bankql has no command "settle". Did you mean bankql payments settle?\n'],
    ['help docter', 'bankql has no command "docter". Did you mean bankql doctor?\n'],
    ['payments', 'Say what to do with payments.\nusage: bankql payments COMMAND'],
    ['config check', '`bankql config check` is `bankql check` now.\n'],
    ['config', '`bankql config check` is `bankql check` now.\n'],
    ['payments find --state unknown', '`bankql payments find` is `bankql payments list` now.\n'],
    [
      'explain a.graphql',
      '`bankql explain` was removed: a query with the header `x-bankql-explain: calls` lists',
    ],
    [
      'doctor --payment-answer 200',
      "`bankql doctor --payment-answer` is `bankql payments explain '200 {…}'` now.",
    ],
    [
      '--port 5000',
      'bankql serve has no option --port: set the variable, as PORT=5000.\nusage: bankql [serve]',
    ],
    ['serve --port=5000', 'bankql serve has no option --port: set the variable, as PORT=5000.\n'],
    ['serve --bank-id', 'bankql serve has no option --bank-id: set the variable, as BANK_ID=….\n'],
    ['serve --bank-subscription-key s3cret', 'as BANK_SUBSCRIPTION_KEY=….\n'],
    ['serve --state-url postgres://me:s3cret@db/x', 'as STATE_URL=postgres://…@db/x.\n'],
    ['serve s3cret', 'bankql serve takes options only, and no further word.\nusage: bankql [serve]'],
    ['schema --federation', 'bankql schema has no option --federation.\nusage: bankql schema [--env-file'],
    ['payments list --acount s3cret', 'has no option --acount. Did you mean --account?\nusage: '],
    ['payments list --account', "Option '--account <value>' argument missing\nusage: bankql payments list"],
    ['doctor --account --key s3cret', "Option '--account' argument is ambiguous"],
    ['doctor -k s3cret', 'bankql doctor has no option -k. Did you mean --key?\nusage: '],
    ['payments list --json=s3cret', "Option '--json' does not take an argument\nusage: "],
    ['payments show zzz', 'An id is hexadecimal (0 to 9, a to f): give it whole, or at least its first six'],
  ])('%s', async (line, message) => {
    const { code, output, errors } = await runCommand(line.split(' '));
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain(message);
    expect(errors).not.toContain('s3cret');
  });
});

test.each([
  [['--env-file', 'a.env', 'doctor'], ['a.env'], ['doctor']],
  [
    ['doctor', '--env-file=a.env', '--env-file', 'b.env', '--view', 'owner'],
    ['a.env', 'b.env'],
    ['doctor', '--view', 'owner'],
  ],
])('the files of variables are taken out of %j', (words, envFiles, others) => {
  expect(takeEnvFiles(words)).toEqual({ envFiles, words: others });
});

test.each([[['--env-file']], [['--env-file=']]])('%j names no file', (words) => {
  expect(() => takeEnvFiles(words)).toThrow('--env-file needs the name of a file');
});
