import { type FieldNode, GraphQLError, Kind, parse, visit } from 'graphql';
import { expect, test } from 'vitest';
import { locateError, withPlaceOf } from '../../src/executor/errors.ts';

const fields: FieldNode[] = [];
visit(parse('{ a\n  a\n  a a }'), { [Kind.FIELD]: (node) => void fields.push(node) });
const path = ['a', 0];

test('an error is told where it happened: its path, and the first three places in the document', () => {
  const thrown = Object.assign(new Error('thrown'), { extensions: { code: 'FORBIDDEN' } });
  const error = locateError(thrown, fields, path);
  expect(error).toBeInstanceOf(GraphQLError);
  expect(error.originalError).toBe(thrown);
  expect(error.toJSON()).toEqual({
    message: 'thrown',
    path,
    locations: [
      { line: 1, column: 3 },
      { line: 2, column: 3 },
      { line: 3, column: 3 },
    ],
    extensions: { code: 'FORBIDDEN' },
  });
  expect([error.nodes, error.positions]).toEqual([fields.slice(0, 3), [2, 6, 10]]);
});

test('an error that knows its place keeps it', () => {
  const located = locateError(new Error('thrown'), fields, path);
  expect(locateError(located, fields.slice(3), ['above'])).toBe(located);
  const ofDocument = new GraphQLError('of the document', { nodes: fields.slice(3) });
  const error = locateError(ofDocument, fields, path);
  expect([error.path, error.locations, error.originalError]).toEqual([
    path,
    [{ line: 3, column: 5 }],
    ofDocument,
  ]);
});

test('another error can be put in its place', () => {
  const located = locateError(new Error('thrown'), fields, path);
  expect(withPlaceOf(new GraphQLError('masked'), located).locations).toEqual(located.locations);
});

test('what is no error is one all the same', () => {
  expect(locateError('a text', fields, path)).toMatchObject({
    path,
    message: expect.stringMatching('a text'),
  });
});

test('an error that cannot be read is located all the same', () => {
  const unreadable = Object.defineProperty(new Error('hidden'), 'message', {
    get() {
      throw new Error('message');
    },
  });
  const { message, path: where } = locateError(unreadable, [], path);
  expect({ message, where }).toEqual({ message: 'What was thrown cannot be read.', where: path });
});
