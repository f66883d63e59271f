import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { account } from '../../src/contract/account.ts';
import { branch } from '../../src/contract/branch.ts';
import { customer } from '../../src/contract/customer.ts';
import { product } from '../../src/contract/product.ts';
import { recordFields } from '../../src/contract/record.ts';
import { amount } from '../../src/contract/shared-parts.ts';
import { transaction } from '../../src/contract/transaction.ts';
import { anyCharacter } from '../support/any-text.ts';
import { exact, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

/** For any record and any changes, a member that is not changed is written back as it was read, digit by digit. */

const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const texts = fc.array(text, { maxLength: 3 });
const digits = fc
  .tuple(fc.boolean(), fc.bigInt(0n, 10n ** 30n), fc.stringMatching(/^(?:\.\d{1,25})?$/))
  .map(([isNegative, whole, fraction]) => exact(`${isNegative ? '-' : ''}${whole}${fraction}`));

/**
 * Any record with this shape: members that answers or bodies require are present, other members may be absent or null. `given`:
 * the values of some members.
 */
function anyRecord(
  shape: z.ZodObject,
  given: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): fc.Arbitrary<Record<string, unknown>> {
  const members = recordFields(shape).map((field) => {
    const { rest, type, isList, isOnlyEntry, listOf, isRequired, requiredInBodies } = field;
    const one: fc.Arbitrary<unknown> =
      typeof type === 'object'
        ? anyRecord(type)
        : { Boolean: fc.boolean(), Float: digits, Decimal: digits, ID: text, String: text }[type];
    const value = isList && !isOnlyEntry && listOf === undefined ? fc.array(one, { maxLength: 3 }) : one;
    const isThere = isRequired || requiredInBodies === true || given[rest] !== undefined;
    return { rest, isThere, value: given[rest] ?? (isThere ? value : fc.option(value)) };
  });
  return fc.record(Object.fromEntries(members.map(({ rest, value }) => [rest, value])), {
    requiredKeys: members.filter(({ isThere }) => isThere).map(({ rest }) => rest),
  });
}

interface PropertyCase {
  readonly field: string;
  readonly ids: string;
  readonly record: fc.Arbitrary<Record<string, unknown>>;
  /** The possible changes, by the member's name in the input: its name in the REST body, and its values. */
  readonly changes: Readonly<Record<string, readonly [string, fc.Arbitrary<unknown>]>>;
  /** A change that is part of every update. */
  readonly always?: object;
  readonly answer?: (record: object) => object;
  /** The body that is written if there is no other change. */
  readonly body?: (record: Record<string, unknown>) => object;
}

const cases: readonly PropertyCase[] = [
  {
    field: 'updateCustomer',
    ids: 'customerId: "C"',
    record: anyRecord(customer),
    changes: {
      email: ['email', fc.option(text)],
      legalName: ['legal_name', fc.option(text)],
      bankIds: ['bank_id', fc.option(texts)],
      stringValues: ['string_values', fc.constant(null)],
    },
    body: ({ metadata: _, ...rest }) => rest,
  },
  {
    field: 'updateAccount',
    ids: 'accountId: "A"',
    record: anyRecord(account, {
      balance: anyRecord(amount),
      bank_id: fc.constant('BANK'),
      id: fc.constant('A'),
    }),
    changes: {
      label: ['label', fc.option(text)],
      types: ['type', fc.option(texts)],
      iban: ['IBAN', fc.option(text)],
    },
    answer: (record) => ({ accounts: [record] }),
  },
  {
    field: 'updateBranch',
    ids: 'branchId: "B"',
    record: anyRecord(branch, { id: fc.constant('B') }),
    changes: {
      acceptsDeposits: ['acceptsDeposits', fc.boolean()],
      bankName: ['bank', fc.option(text)],
      name: ['name', fc.option(text)],
      lobby: ['lobby', fc.constant(null)],
    },
    answer: (record) => ({ branches: [record] }),
  },
  {
    field: 'updateProduct',
    ids: 'productId: "P"',
    record: anyRecord(product, {
      bank_id: fc.option(fc.array(text, { minLength: 1, maxLength: 1 })),
      id: fc.option(fc.constant('P')),
    }),
    changes: {
      name: ['name', fc.option(text)],
      moreInfoUrl: ['more_info_url', fc.option(text)],
      meta: ['meta', fc.option(texts)],
    },
    body: ({ bank_id, ...rest }) => ({
      ...rest,
      bank_id: Array.isArray(bank_id) ? bank_id[0] : 'BANK',
      id: 'P',
    }),
  },
  {
    field: 'annotateTransaction',
    ids: 'accountId: "A", transactionId: "T", metadataType: "M"',
    record: anyRecord(transaction, { id: fc.constant('T') }),
    changes: {},
    always: { narrative: 'n' },
    body: ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { comments: '', ...Object(withoutNulls(Object(metadata))), narrative: 'n' },
    }),
  },
];

/** A value without its nulls, because a null of the bank is an absent member. */
const withoutNulls = (value: object): unknown =>
  JSON.parse(JSON.stringify(value), (_key, member, { source }) => {
    if (typeof member === 'number') return { number: source };
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).filter(([, inner]) => inner !== null));
  });

test.each(cases)('$field keeps every member that the changes do not name', async (it) => {
  const changes = fc.record(
    Object.fromEntries(Object.entries(it.changes).map(([name, [, value]]) => [name, value])),
    { requiredKeys: [] },
  );
  const asked = `mutation M($changes: ${it.field === 'annotateTransaction' ? 'TransactionMetadata' : it.field.slice(6)}Changes!) {
    ${it.field}(input: { ${it.ids}, changes: $changes }) { trackId }
  }`;
  await fc.assert(
    fc.asyncProperty(it.record, changes, async (record, changed) => {
      fc.pre(it.always !== undefined || Object.keys(changed).length > 0);
      // Changes that leave nothing of a record are refused.
      fc.pre(Object.entries(record).some(([name, value]) => value !== null && name !== 'metadata'));
      bank.calls.length = 0;
      bank.otherwise(({ method }) => ({
        body: method === 'GET' ? (it.answer ?? ((same) => same))(record) : {},
      }));
      const result = await ask(asked, { changes: { ...it.always, ...changed } });
      expect(result.errors).toBeUndefined();
      const [, put, ...more] = bank.calls;
      expect(more).toEqual([]);
      const renamed = Object.entries(changed).map(([name, value]) => [it.changes[name]?.[0], value]);
      const kept = (it.body ?? ((same) => same))({ ...record });
      expect(put && sentJson(put)).toEqual(withoutNulls({ ...kept, ...Object.fromEntries(renamed) }));
    }),
    { numRuns: 25 },
  );
});
