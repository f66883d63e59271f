import { readFileSync } from 'node:fs';
import { getNamedType, isCompositeType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { writtenFiles } from '../../bin/print-schema.ts';
import { schema } from '../../src/schema/schema.ts';
import { membersOf, ownTypesOf } from '../support/schema-members.ts';

/** Members that the Relay specification defines, and the input of a mutation, whose type says all. */
const explained =
  /^(\w+Connection\.(edges|nodes|pageInfo)|\w+Edge\.\w+|PageInfo\.\w+|.*\((first|after|last|before|input):\))$/;

const described = ownTypesOf(schema)
  .flatMap((type) => [type, ...membersOf(type)])
  .filter((it) => !explained.test(String(it)) || it.description)
  .map((it) => ({ name: String(it), text: it.description?.trim() ?? '' }));

test.each(Object.entries(writtenFiles))('npm run schema has written %s', (file, write) => {
  const written = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(written).toBe(write(written));
});

test('every type, field, argument and value is described', () => {
  expect(described.filter(({ text }) => text === '')).toEqual([]);
});

const links = ownTypesOf(schema)
  .filter((type) => isObjectType(type))
  .flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => isCompositeType(getNamedType(field.type)))
      .map(({ name, description }) => ({ name: `${type.name}.${name}`, text: description ?? '' })),
  )
  .filter(({ name }) => !explained.test(name));

test('a field that leads to objects says what it costs, after an unusual null', () => {
  expect(links.length).toBeGreaterThan(80);
  // A part of a record names the record's member; it comes with the record.
  const costs = /\bREST(?: then)?: \w|\bREST `|\bCosts (no|the|one) (further )?REST call/;
  expect(links.filter(({ text }) => !costs.test(text)).map(({ name }) => name)).toEqual([]);
  const late = links.filter(({ text }) => /(\bREST(?: then)?: |\bCosts ).*\b[Nn]ull\b/s.test(text));
  expect(late.map(({ name }) => name)).toEqual([]);
});
