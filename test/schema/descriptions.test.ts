import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { writtenFiles } from '../../bin/print-schema.ts';
import { schema } from '../../src/schema/schema.ts';
import { membersOf, ownTypesOf } from '../support/schema-members.ts';

/**
 * Members that need no further explanation: those of the Relay specification, and the input of a mutation, whose type explains
 * it.
 */
const explained =
  /^(\w+Connection\.(edges|nodes|pageInfo)|\w+Edge\.\w+|PageInfo\.\w+|.*\((first|after|last|before|input):\))$/;

const described = ownTypesOf(schema)
  .flatMap((type) => [type, ...membersOf(type)])
  .filter((it) => !explained.test(String(it)) || it.description)
  .map((it) => ({ name: String(it), text: it.description?.trim() ?? '' }));

test.each(Object.entries(writtenFiles))('%s is what `npm run schema` writes', (file, write) => {
  const written = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(written).toBe(write(written));
});

test('every type, field, argument and value is described', () => {
  expect(described.filter(({ text }) => text === '')).toEqual([]);
});

test('a description is one sentence, except that of a scalar', () => {
  const ofScalars = /^(DateTime|Decimal|Float|ID|Int|String)$/;
  const long = described.filter(({ name, text }) => !ofScalars.test(name) && /[.?!]\s+\S/.test(text));
  expect(long).toEqual([]);
});

test('no description names a REST operation or a cost: these are in the extensions of fields', () => {
  expect(described.filter(({ text }) => /\bREST\b|\b[Cc]osts?\b/.test(text))).toEqual([]);
});
