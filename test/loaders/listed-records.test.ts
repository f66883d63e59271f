import { expect, test } from 'vitest';
import { account } from '../../src/contract/account.ts';
import { ListedRecords } from '../../src/loaders/loaders.ts';
import { accountRecord } from '../support/full-records.ts';

type Entry = { readonly id?: string; readonly value?: unknown };

test('a record is found by its place and its id', () => {
  const listed = new ListedRecords<Entry>({});
  expect(listed.find('here', 'a', null)).toBeNull();
  const [first, second] = [{ id: 'a' }, { id: 'b' }];
  listed.add('here', [first, {}]);
  listed.add('here', [second]);
  expect(listed.find('here', 'a', null)).toBe(first);
  expect(listed.find('here', 'b', null)).toBe(second);
  expect(listed.find('there', 'a', null)).toBeNull();
  expect(listed.find('here', 'c', null)).toBeNull();
});

test('a record that is broken, however deep, is not found; another list may have it whole', () => {
  const listed = new ListedRecords<Entry>({});
  listed.add('here', [{ id: 'a', value: { deep: [new Error('broken')] } }]);
  expect(listed.find('here', 'a', null)).toBeNull();
  const whole = { id: 'a', value: { deep: [null, 1] } };
  listed.add('here', [whole]);
  expect(listed.find('here', 'a', null)).toBe(whole);
});

test('a record that lacks a field of its table is not found', () => {
  const listed = new ListedRecords<Entry>(account.fields);
  const { IBAN: _, ...others } = accountRecord;
  listed.add('here', [others]);
  const hidden = { ...accountRecord, balance: { currency: 'EUR' } };
  listed.add('here', [hidden]);
  expect(listed.find('here', 'ACC', null)).toBeNull();
  listed.add('here', [accountRecord]);
  expect(listed.find('here', 'ACC', null)).toBe(accountRecord);
});

test('a record that lacks other fields is found by those that are needed', () => {
  const { balance, iban, label } = account.fields;
  const listed = new ListedRecords<Entry>(account.fields);
  const { IBAN: _, ...others } = { ...accountRecord, balance: { currency: 'EUR' } };
  listed.add('here', [others]);
  expect(listed.find('here', 'ACC', [label])).toBe(others);
  expect(listed.find('here', 'ACC', [])).toBe(others);
  for (const lacking of [iban, balance]) expect(listed.find('here', 'ACC', [label, lacking])).toBeNull();
});
