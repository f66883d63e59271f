import { readFileSync } from 'node:fs';
import { getNamedType, isCompositeType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { printedSchema, schema } from '../../src/schema/schema.ts';
import { membersOf, ownTypesOf } from '../support/schema-members.ts';

/** Descriptions are for app authors: they say what a thing is, what an unusual null means, and REST's name for it last. */

/** Members that the Relay specification defines, and the input of a mutation, whose type says all. */
const explained =
  /^(\w+Connection\.(edges|nodes|pageInfo)|\w+Edge\.\w+|PageInfo\.\w+|.*\((first|after|last|before|input):\))$/;

const described = ownTypesOf(schema)
  .flatMap((type) => [type, ...membersOf(type)])
  .filter((it) => !explained.test(String(it)) || it.description)
  .map((it) => ({ name: String(it), text: it.description?.trim() ?? '' }));

test('schema.graphql is the printed schema', () => {
  expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(printedSchema());
});

const saysNothing = [
  /^The (account|bank|branch|customer|entry itself|payment|place|product|request|transaction|view)(, which pays)?\.( REST|$)/,
  /^(What it is for|How far it is|Which of them|What to put, and where|The request body|ISO 8601, UTC|Another view)\./,
  /\bpath's\b|query body|^As in the mutation's payload|^REST `/,
];

test.each(saysNothing)('no description is an empty phrase such as %s', (phrase) => {
  expect(described.filter(({ text }) => text === '' || phrase.test(text))).toEqual([]);
});

test('a field of a record names REST last', () => {
  const records = described.filter(
    ({ name, text }) =>
      /^(Account|AccountHolder|Address|Branch|Customer|Message|Money|OtherAccount|Product|Transaction\w*)\.\w+$/.test(
        name,
      ) && / REST `/.test(text),
  );
  expect(records.length).toBeGreaterThan(60);
  for (const { name, text } of records) {
    const [, last = ''] = / (REST `.*)$/s.exec(text) ?? [];
    expect(last, name).not.toMatch(/\. [A-Z]/);
  }
  expect(described.find(({ name }) => name === 'Account.iban')?.text).toBe(
    'The international account number. REST `IBAN`.',
  );
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
