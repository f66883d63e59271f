import { readFileSync } from 'node:fs';
import { BreakingChangeType, buildSchema, findSchemaChanges, type GraphQLSchema } from 'graphql';
import { expect, test } from 'vitest';
import { membersOf, ownTypesOf } from '../support/schema-members.ts';

/** The differences between this schema and the last release's. CHANGELOG.md must name each of them. */

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const schema = buildSchema(read('schema.graphql'));
const changelog = read('CHANGELOG.md');

type Change = ReturnType<typeof findSchemaChanges>[number];

/** The schema coordinate of a change: `Bank.branches(near:)`, `@defer`. */
function coordinateOf({ type, description }: Change): string {
  const words = description.replace(/\.$/, '').split(/\s+/);
  const member = words.find((word) => /^([A-Z]\w*\.|@\w)/.test(word));
  return member ?? (type === 'IMPLEMENTED_INTERFACE_ADDED' ? words.at(-1) : words[0]) ?? '';
}

/** The coordinates of deprecated fields, arguments, input fields and enum values. `String` converts each to its coordinate. */
const deprecatedIn = (of: GraphQLSchema): string[] =>
  ownTypesOf(of)
    .flatMap(membersOf)
    .filter(({ deprecationReason }) => deprecationReason != null)
    .map(String);

const sortedSet = (names: readonly string[]): string[] => [...new Set(names)].sort();

interface Found {
  readonly breaking: readonly string[];
  readonly named: readonly string[];
}

/** The changes between two schemas: those that break clients, and all others except changes of descriptions. */
function changesBetween(before: GraphQLSchema, after: GraphQLSchema): Found {
  const changes = findSchemaChanges(before, after).filter(({ type }) => type !== 'DESCRIPTION_CHANGED');
  const breaks = ({ type }: Change) => Object.hasOwn(BreakingChangeType, type);
  const known = new Set(deprecatedIn(before));
  return {
    breaking: changes.filter(breaks).map(({ description }) => description),
    named: sortedSet([
      ...changes.filter((change) => !breaks(change)).map(coordinateOf),
      ...deprecatedIn(after).filter((name) => !known.has(name)),
    ]),
  };
}

/** The coordinates of all changes. Version 0.4.0 may break the schema once; later versions may not. */
const namedOrBroken = (before: GraphQLSchema, after: GraphQLSchema): string[] => {
  const broken = findSchemaChanges(before, after).filter(({ type }) =>
    Object.hasOwn(BreakingChangeType, type),
  );
  return sortedSet([...changesBetween(before, after).named, ...broken.map(coordinateOf)]);
};

const released = buildSchema(read('test/contract/released.graphql'));

test('CHANGELOG.md names each change of the schema since the last release, and no other', () => {
  const [, unreleased = ''] = changelog.split(/^## Unreleased$/m);
  const [, section = ''] = (unreleased.split(/^## /m)[0] ?? '').split(/^### Schema$/m);
  const named = [...(section.split(/^### /m)[0] ?? '').matchAll(/`(@\w+|[A-Z]\w*(?:\.\w+(?:\(\w+:\))?)?)`/g)];
  expect(
    sortedSet(named.map(([, name = '']) => name)),
    'The section "### Schema" below "## Unreleased" in CHANGELOG.md has to name, in backticks, exactly the expected changes',
  ).toEqual(namedOrBroken(released, schema));
});

test('what it compares is noticed: breaking, dangerous, safe, deprecated', () => {
  const before = buildSchema('type Query { kept(a: Int): Int gone: Int } enum E { A }');
  const after = buildSchema(
    'type Query implements N { kept(a: Int @deprecated(reason: "x"), b: Int): Int old: Int @deprecated(reason: "x") } enum E { A @deprecated(reason: "x") B } interface N { kept: Int }',
  );
  expect(changesBetween(before, after)).toEqual({
    breaking: ['Field Query.gone was removed.'],
    named: ['E.A', 'E.B', 'N', 'Query', 'Query.kept(a:)', 'Query.kept(b:)', 'Query.old'],
  });
});
