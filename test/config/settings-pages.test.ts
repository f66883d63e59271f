import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configurationPage, variablesAsEnvExample } from '../../bin/print-configuration.ts';
import { variablesAsHelp } from '../../src/config/help.ts';
import { variableNames } from '../../src/config/variables.ts';

const root = join(import.meta.dirname, '../..');

test('docs/configuration.md is what `npm run configuration` makes of the table', () => {
  expect(readFileSync(join(root, 'docs/configuration.md'), 'utf8')).toBe(configurationPage());
});

test('.env.example is what `npm run configuration` makes of the table', () => {
  expect(readFileSync(join(root, '.env.example'), 'utf8')).toBe(variablesAsEnvExample());
});

test('there are at most 49 variables, and the page, the file and the help name each', () => {
  expect(variableNames.length).toBeLessThanOrEqual(49);
  for (const name of variableNames) {
    expect(configurationPage()).toContain(`| \`${name}\` |`);
    expect(variablesAsEnvExample()).toContain(`\n#${name}=\n`);
    expect(variablesAsHelp()).toContain(`  ${name} (`);
  }
});

test('the page and the file have at most 2,500 words', () => {
  const words = `${configurationPage()} ${variablesAsEnvExample()}`.split(/\s+/);
  expect(words.length).toBeLessThanOrEqual(2500);
});

test('.env.example and the help contain no Markdown', () => {
  for (const text of [variablesAsHelp(), variablesAsEnvExample()]) expect(text).not.toMatch(/\]\(|\w`/);
});

test('.env.example changes nothing as it stands', () => {
  const lines = variablesAsEnvExample().split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
});
