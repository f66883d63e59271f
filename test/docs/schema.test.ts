import { readFileSync } from 'node:fs';
import { buildSchema, isEnumType, isIntrospectionType, isObjectType, isSpecifiedScalarType } from 'graphql';
import { expect, test } from 'vitest';
import { schemaReference } from '../../bin/schema-reference.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const sdl = read('schema.graphql');
const page = read('docs/schema.md');
const types = Object.values(buildSchema(sdl).getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);

test('docs/schema.md is what `npm run schema` makes of schema.graphql', () => {
  expect(page).toBe(schemaReference(sdl));
});

test('names every type, with all its fields or values', () => {
  for (const type of types.filter(({ name }) => !/(Connection|Edge)$/.test(name))) {
    const heading = { Query: '## Queries', Mutation: '## Mutations' }[type.name] ?? `### ${type.name}`;
    const [, section = ''] = page.split(`\n${heading}\n`);
    const said = [...(section.split(/^##/m)[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    const members = isEnumType(type)
      ? type.getValues().map(({ name }) => name)
      : Object.keys('getFields' in type ? type.getFields() : {});
    expect(page, type.name).toContain(`\n${heading}\n`);
    expect(said, type.name).toEqual(members);
  }
});

test('says of lists what all connections have', () => {
  const [, lists = ''] = page.split('\n## Lists\n');
  const [said = ''] = lists.split('These are the arguments');
  const fields = [...said.matchAll(/^\| `(\w+)`/gm)].map(([, field = '']) => field).sort();
  const connections = types.filter(isObjectType).filter(({ name }) => name.endsWith('Connection'));
  expect(connections.length).toBeGreaterThan(5);
  for (const type of connections) expect(Object.keys(type.getFields()).sort(), type.name).toEqual(fields);
});
