import { expect, test } from 'vitest';
import { contentOf, ErrorInSuccess, errorWords } from '../../src/bank/response.ts';
import { operations } from '../../src/contract/operations.ts';

const { getCustomer, getMessagesOwner, postMetadata, getBranches, postMakeTransaction } = operations;

test.each([
  ['members beside the record', getCustomer, { email: 'e', warning: 'w' }, null],
  ['members that are null', getCustomer, { email: null }, null],
  ['an empty record', getCustomer, {}, 'empty-record'],
  ['an error that is none, beside a record', getCustomer, { email: 'e', error: null }, null],
  ['an error beside a record', getCustomer, { email: 'e', error: 'old' }, null],
  ['anything where nothing is specified', postMakeTransaction, { x: 1 }, null],
])('a record: %s', (_, operation, json, drift) => {
  expect(contentOf(operation, json)).toEqual({ value: json, drift });
});

test.each([
  [
    'a record whose message is its own',
    getMessagesOwner,
    { message: 'm', date: 'd' },
    [{ message: 'm', date: 'd' }],
  ],
  ['a record with a code', postMetadata, { code: 'c', id: 'i' }, [{ code: 'c', id: 'i' }]],
  ['another spelling before the object itself', getBranches, { branch: [], name: 'n' }, []],
])('a list: %s', (_, operation, json, value) => {
  expect(contentOf(operation, json)).toEqual({ value, drift: 'envelope' });
});

test.each([
  ['a message alone in place of messages', getMessagesOwner, { message: 'no' }],
  ['a code and a message in place of metadata', postMetadata, { code: '401', message: 'no' }],
  ['an error with nulls of the contract', getCustomer, { error: 'no', email: null }],
])('an error: %s', (_, operation, json) => {
  expect(() => contentOf(operation, json)).toThrow(ErrorInSuccess);
});

test.each([
  ['texts', getBranches, ['a', 1]],
  ['an object in the list’s place', getBranches, { branches: {} }],
  ['another kind of list', getBranches, { products: [] }],
  ['a list of two records', getCustomer, [{ email: 'a' }, { email: 'b' }]],
  ['null', getCustomer, null],
])('nothing: %s', (_, operation, json) => {
  expect(contentOf(operation, json)).toBeUndefined();
});

test('the words of an error end where it is too deep', () => {
  let error: object = { message: 'too deep' };
  for (let depth = 0; depth < 10_000; depth++) error = { error, title: String(depth) };
  expect(errorWords(error)).toBe('9995 9996 9997 9998 9999');
});
