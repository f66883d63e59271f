import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NoDeprecatedCustomRule, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/schema/schema.ts';

const folder = join(import.meta.dirname, '../../examples');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

const manifest: Record<string, string> = JSON.parse(read('mobile-bff/manifest.json'));
/** GraphQL in the sources of the web app. */
const inSources = globSync('web/src/*.{ts,tsx}', { cwd: folder })
  .map(read)
  .flatMap((source) => [...source.matchAll(/graphql\(`([^`]*)`/g)].map(([, text = '']) => text));

test.each([
  ...globSync('{screens,mobile-bff/operations}/*.graphql', { cwd: folder }).map((file) => [file, read(file)]),
  ...Object.entries(manifest),
  ['web', inSources.join('\n')],
])('no document of the examples uses what is deprecated: %s', (_, text = '') => {
  expect(text).toContain('{');
  expect(validate(schema, parse(text), [NoDeprecatedCustomRule]).map(({ message }) => message)).toEqual([]);
});
