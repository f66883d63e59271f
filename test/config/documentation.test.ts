import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { configurationPage, variablesAsEnvExample, variablesAsHelp } from '../../src/config/documentation.ts';
import { variableNames } from '../../src/config/variables.ts';

const root = join(import.meta.dirname, '../..');

test('docs/configuration.md is what `npm run configuration` makes of the table', () => {
  expect(readFileSync(join(root, 'docs/configuration.md'), 'utf8')).toBe(configurationPage());
});

test('.env.example is too', () => {
  expect(readFileSync(join(root, '.env.example'), 'utf8')).toBe(variablesAsEnvExample());
});

test('the page, the example and the help name every variable', () => {
  for (const name of variableNames) {
    expect(configurationPage()).toContain(`| \`${name}\` |`);
    expect(variablesAsEnvExample()).toContain(`\n#${name}=\n`);
    expect(variablesAsHelp()).toContain(`  ${name} (`);
  }
});

test('.env.example changes nothing as it stands', () => {
  const lines = variablesAsEnvExample().split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  expect(readConfig({})).toEqual(readConfig(Object.fromEntries(variableNames.map((name) => [name, '']))));
});
