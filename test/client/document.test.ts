import { expect, test } from 'vitest';
import { isMutation } from '../../src/client/graphql-client.ts';

test.each([
  ['mutation { a }', true],
  ['  # first\n mutation M($a: ID) { a }', true],
  ['fragment F on T { a }mutation M { ...F }', true],
  ['query Q { a }, mutation M { a }', true],
  ['{ mutation }', false],
  ['query mutation { a }', false],
  ['{ a(text: "} mutation") }', false],
  ['{ a(text: """\n} mutation\n""") }', false],
  ['{ a } # } mutation', false],
  ['{ a(text: "# \\" }") } mutation M { b }', true],
])('%s holds a mutation: %s', (text, expected) => {
  expect(isMutation(text)).toBe(expected);
});
