import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configurationPage, variablesAsEnvExample } from '../../bin/print-configuration.ts';
import { readConfig } from '../../src/config/config.ts';
import { sandboxOptionsAsHelp, variablesAsHelp } from '../../src/config/help.ts';
import { type Variable, variableNames, variables } from '../../src/config/variables.ts';

const root = join(import.meta.dirname, '../..');

test('docs/configuration.md is what `npm run configuration` makes of the table', () => {
  expect(readFileSync(join(root, 'docs/configuration.md'), 'utf8')).toBe(configurationPage());
});

test('.env.example is too', () => {
  expect(readFileSync(join(root, '.env.example'), 'utf8')).toBe(variablesAsEnvExample());
});

test('the page names every variable; the help names those of operators, about thirty of them at length', () => {
  const rows = variableNames.map((name): [string, Variable] => [name, variables[name]]);
  for (const [name, { option, rarely }] of rows) {
    expect(configurationPage()).toContain(`\`${name}\` |`);
    if (option !== undefined) {
      expect(sandboxOptionsAsHelp()).toContain(`  ${option} VALUE (`);
      continue;
    }
    expect(variablesAsEnvExample()).toContain(`\n#${name}=\n`);
    expect(variablesAsHelp()).toContain(`  ${name} (`);
    if (rarely !== undefined) expect(rarely).toMatch(/^\S.{10,}[^.]$/);
  }
  const common = rows.filter(([, { option, rarely }]) => option === undefined && rarely === undefined);
  expect(common.length).toBeGreaterThan(25);
  expect(
    common.length,
    'variables without `rarely`: give it to one that few operators change',
  ).toBeLessThanOrEqual(30);
});

test('no Markdown is in what is no Markdown', () => {
  for (const text of [variablesAsHelp(), sandboxOptionsAsHelp(), variablesAsEnvExample()])
    expect(text).not.toMatch(/\]\(|\w`/);
});

test('.env.example changes nothing as it stands', () => {
  const lines = variablesAsEnvExample().split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  expect(readConfig({})).toEqual(readConfig(Object.fromEntries(variableNames.map((name) => [name, '']))));
});
