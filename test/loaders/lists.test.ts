import fc from 'fast-check';
import { expect, test } from 'vitest';
import { account } from '../../src/contract/account.ts';
import { recordField } from '../../src/contract/record.ts';
import { findById, ListedRecords } from '../../src/loaders/loaders.ts';
import { accountRecord } from '../support/full-records.ts';

test('findById finds the first entry with an id in short and long lists, whatever stands beside it', () => {
  const id = fc.constantFrom('a', 'b', 'A', '', '0', '__proto__', 'constructor');
  const broken = fc.constant(new Error('broken'));
  const entry = fc.oneof(fc.record({ id: fc.oneof(id, fc.constant(null), broken) }), fc.constant({}), broken);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40, size: 'max' }), id, (entries, wanted) => {
      const list = entries as { id?: string }[];
      expect(findById(list, wanted)).toBe(list.find((each) => each.id === wanted) ?? null);
    }),
    { numRuns: 300 },
  );
});

test('a record is found in any list of its place that has it whole, with each field of its table', () => {
  const listed = new ListedRecords(account);
  const { IBAN: _, ...others } = accountRecord;
  const broken = { ...accountRecord, owners: [new Error('broken')] };
  const empty = [
    { ...accountRecord, IBAN: '' },
    { ...accountRecord, owners: [] },
  ];
  for (const record of [others, { ...accountRecord, balance: { currency: 'EUR' } }, broken, ...empty]) {
    listed.add('here', [record as never]);
    expect(listed.find('here', 'ACC', null)).toBeNull();
  }
  const whole = accountRecord as never;
  listed.add('here', [{ id: 'B' } as never, whole]);
  expect(listed.find('here', 'ACC', null)).toBe(whole);
  expect([listed.find('here', 'C', null), listed.find('there', 'ACC', null)]).toEqual([null, null]);
});

test('a record that lacks other fields is found by those that are needed', () => {
  const label = recordField(account, 'label');
  const listed = new ListedRecords(account);
  const { IBAN: _, ...others } = { ...accountRecord, balance: { currency: 'EUR' } };
  listed.add('here', [others as never]);
  expect(listed.find('here', 'ACC', [label])).toBe(others);
  expect(listed.find('here', 'ACC', [])).toBe(others);
  for (const lacking of [recordField(account, 'IBAN'), recordField(account, 'balance')])
    expect(listed.find('here', 'ACC', [label, lacking])).toBeNull();
});
