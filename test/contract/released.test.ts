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

const released = buildSchema(read('test/contract/released.graphql'));

/**
 * The additions that follow from another addition: a new type has a connection and edges, and a new field of a record is also
 * in the record's inputs.
 */
function impliedBetween(before: GraphQLSchema, after: GraphQLSchema): (name: string) => boolean {
  const known = new Set(coordinatesOf(before));
  const added = new Set(coordinatesOf(after).filter((name) => !known.has(name)));
  return (name) => {
    const cause = name.replace(/(?<=^\w+)(?:Connection|Edge)$|(?<=^\w+)(?:Changes|Input)(?=\.\w+$)/, '');
    return cause !== name && added.has(name) && added.has(cause);
  };
}

const coordinatesOf = (of: GraphQLSchema): string[] =>
  ownTypesOf(of).flatMap((type) => [type, ...membersOf(type)].map(String));

test('CHANGELOG.md names each change of the schema since the last release that no other implies', () => {
  const [, unreleased = ''] = changelog.split(/^## Unreleased$/m);
  const [, section = ''] = (unreleased.split(/^## /m)[0] ?? '').split(/^### Schema$/m);
  const named = [...(section.split(/^### /m)[0] ?? '').matchAll(/`(@\w+|[A-Z]\w*(?:\.\w+(?:\(\w+:\))?)?)`/g)];
  const names = sortedSet(named.map(([, name = '']) => name));
  const isImplied = impliedBetween(released, schema);
  expect(
    names,
    'The section "### Schema" below "## Unreleased" in CHANGELOG.md has to name, in backticks, the expected changes',
  ).toEqual(
    changesBetween(released, schema).named.filter((name) => names.includes(name) || !isImplied(name)),
  );
});

test('no change since the last release breaks a client', () => {
  expect(changesBetween(released, schema).breaking).toEqual([]);
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

test('a connection, its edges and the fields of inputs follow from a new type and a new field', () => {
  const before = buildSchema('type A { old: Int } input AInput { old: Int }');
  const after = buildSchema(`
    type A { old: Int new: Int } input AInput { old: Int new: Int other: Int } input AChanges { new: Int }
    type B { b: Int } type BConnection { b: Int } type BEdge { b: Int } type AEdge { b: Int }
  `);
  const { named } = changesBetween(before, after);
  const isImplied = impliedBetween(before, after);
  expect(named.filter((name) => !isImplied(name))).toEqual([
    'A.new',
    'AChanges',
    'AEdge',
    'AInput.other',
    'B',
  ]);
  expect(named.filter(isImplied)).toEqual(['AInput.new', 'BConnection', 'BEdge']);
});
