import { expect, test } from 'vitest';
import { contentOf, ErrorInSuccess, errorWords } from '../../src/bank/response.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';

const {
  getCustomer,
  getMessagesOwner,
  postMetadata,
  getBranches,
  postMakeTransaction,
  putTransactionsRequestAccount,
} = operations;

test.each<[string, Operation, unknown, string | null]>([
  ['members beside the record', getCustomer, { email: 'e', warning: 'w' }, null],
  ['members that are null', getCustomer, { email: null }, null],
  ['an empty record', getCustomer, {}, 'empty-record'],
  ...[
    ...[null, false, '', 0, [], {}, { code: 0, message: null }],
    ...['0', 'None', 'false', [{}], { code: '0', message: 'Success' }, { errorCode: '00', description: '' }],
  ].map((error): [string, Operation, unknown, null] => [
    `${JSON.stringify(error)} as an error beside a record`,
    getCustomer,
    { email: 'e', error },
    null,
  ]),
  ['an error where nothing is specified', postMakeTransaction, { id: 'i', error: 'no' }, null],
  ['anything where nothing is specified', postMakeTransaction, { x: 1 }, null],
])('a record: %s', (_, operation, json, drift) => {
  expect(contentOf(operation, json)).toEqual({ value: json, drift });
});

test('a list: an empty object, where the specification does not require its key', () => {
  expect(contentOf(getBranches, {})).toEqual({ value: [], drift: 'empty-record' });
  expect(contentOf(putTransactionsRequestAccount, {})).toBeUndefined();
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
  ['an error beside a record', getCustomer, { email: 'e', error: 'old' }],
  ['an error that names no code', getCustomer, { email: 'e', error: { code: null, message: 'old' } }],
  ['a code in an error', getCustomer, { email: 'e', error: { code: '7', message: '' } }],
  ['errors beside a record', getCustomer, { email: 'e', Errors: [{ message: 'm' }] }],
  [
    'an error beside a wrapped record',
    getCustomer,
    { customer: { email: 'e' }, fault: { faultstring: 'f' } },
  ],
  ['an error in a wrapped record', getCustomer, { customer: { email: 'e', error: 'old' } }],
  ['an error beside an empty list', getBranches, { branches: [], error: 'down' }],
  ['an error beside a list', getBranches, { branches: [{ name: 'n' }], error: 'the rest is away' }],
  ['an error beside a list under another name', getBranches, { branch: [{ name: 'n' }], error: 'away' }],
  ['an error in the only record of a list', getCustomer, [{ email: 'e', error: 'away' }]],
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
