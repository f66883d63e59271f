import { expect, test } from 'vitest';
import { checkParams } from '../../src/engine/params.ts';

const nothing = { query: null, operationName: null, variables: null, extensions: null, documentId: null };

test.each([
  [{}, nothing],
  [{ query: '{ a }' }, { ...nothing, query: '{ a }' }],
  [{ query: null, variables: undefined, unknown: null }, nothing],
  [
    { query: '{ a }', unknown: 'x', id: 7, __proto__: {} },
    { ...nothing, query: '{ a }' },
  ],
  [
    { query: '{ a }', documentId: '' },
    { ...nothing, query: '{ a }' },
  ],
  [
    { documentId: 'id', operationName: 'A', variables: { a: 1 }, extensions: { b: [] } },
    { ...nothing, documentId: 'id', operationName: 'A', variables: { a: 1 }, extensions: { b: [] } },
  ],
])('%j is taken', (asked, expected) => {
  expect(checkParams(asked)).toEqual(expected);
});

test.each([
  [null, /JSON object/],
  ['{ a }', /JSON object/],
  [[{ query: '{ a }' }], /Batches/],
  [{ query: 1 }, /"query" has to be a text/],
  [{ query: '{ a }', operationName: {} }, /"operationName" has to be a text/],
  [{ query: '{ a }', variables: [] }, /"variables" has to be an object/],
  [{ query: '{ a }', variables: '{}' }, /"variables" has to be an object/],
  [{ query: '{ a }', extensions: 1 }, /"extensions" has to be an object/],
  [{ doc_id: 7 }, /"doc_id" has to be a text/],
  [{ documentId: 'secret', doc_id: 'secret 2' }, /"documentId" and "doc_id" differ/],
  [{ documentId: 7 }, /"documentId" has to be a text/],
])('%j is refused, and nothing of it repeated', (asked, message) => {
  expect(() => checkParams(asked)).toThrow(message);
  expect(() => checkParams(asked)).not.toThrow(/secret/);
});
