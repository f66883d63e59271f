import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../support/any-text.ts';
import { exact, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

/**
 * Whatever a record holds and whatever is changed, a member that the changes do not name is written back as it was read,
 * digit by digit.
 */

const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const texts = fc.array(text, { maxLength: 3 });
const digits = fc
  .tuple(fc.boolean(), fc.bigInt(0n, 10n ** 30n), fc.stringMatching(/^(?:\.\d{1,25})?$/))
  .map(([isNegative, whole, fraction]) => exact(`${isNegative ? '-' : ''}${whole}${fraction}`));
/** An object with these members: those behind the first `required` may be left out, or null. */
const object = (required: number, members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> => {
  const entries = Object.entries(members).map(
    ([name, value], index) => [name, index < required ? value : fc.option(value)] as const,
  );
  return fc.record(Object.fromEntries(entries), {
    requiredKeys: entries.slice(0, required).map(([name]) => name),
  });
};
const amount = object(1, { amount: digits, currency: text });
const keyValues = fc.array(object(1, { key: text, string: text }), { maxLength: 3 });
const detailTexts = [
  ...['approved', 'cancelled', 'paused', 'posted'].flatMap((by) => [
    `${by}_by_ip_address`,
    `${by}_by_user_id`,
  ]),
  ...['completed', 'description', 'posted', 'status', 'type'],
];

interface PropertyCase {
  readonly field: string;
  readonly ids: string;
  readonly record: fc.Arbitrary<object>;
  /** What is changed, by its name in the changes and in the body. */
  readonly changes: Readonly<Record<string, readonly [string, fc.Arbitrary<unknown>]>>;
  /** A change that every update makes. */
  readonly always?: object;
  readonly answer?: (record: object) => object;
  /** The body if nothing else is changed. */
  readonly body?: (record: Record<string, unknown>) => object;
}

const cases: readonly PropertyCase[] = [
  {
    field: 'updateCustomer',
    ids: 'customerId: "C"',
    record: object(0, {
      bank_id: texts,
      customer_number: text,
      date_values: keyValues,
      email: text,
      face_image: object(1, { name: text }),
      legal_name: text,
      mobile_phone_number: text,
      numeric_values: keyValues,
      string_values: keyValues,
      metadata: texts,
    }),
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
    record: object(1, {
      balance: amount,
      bank_id: fc.constant('BANK'),
      IBAN: text,
      label: text,
      number: text,
      owners: texts,
      swift_bic: text,
      type: texts,
      views_available: texts,
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
    record: object(1, {
      acceptsDeposits: fc.boolean(),
      address: object(1, {
        city: text,
        country: text,
        line_1: text,
        line_2: text,
        postcode: text,
        state: text,
      }),
      bank: text,
      lobby: object(1, { is24Hours: fc.boolean() }),
      location: object(1, { latitude: digits, longitude: digits }),
      meta: object(1, { license: text }),
      name: text,
    }).map((record) => ({ ...record, id: 'B' })),
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
    record: object(0, {
      bank_id: fc.array(text, { minLength: 1, maxLength: 1 }),
      category: text,
      family: text,
      meta: texts,
      more_info_url: text,
      name: text,
      super_family: text,
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
    record: object(1, {
      details: object(1, {
        ...Object.fromEntries(detailTexts.map((name) => [name, text])),
        new_balance: amount,
        value: amount,
      }),
      id: fc.constant('T'),
      other_account: text,
      this_account: text,
      uuid: text,
      metadata: object(1, { comments: text, narrative: text, tags: text, where: text }),
    }),
    changes: {},
    always: { narrative: 'n' },
    body: ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { comments: '', ...Object(withoutNulls(Object(metadata))), narrative: 'n' },
    }),
  },
];

/** A value without its nulls: the bank's null is an absent member. */
const withoutNulls = (value: object): unknown =>
  JSON.parse(JSON.stringify(value), (_key, member, { source }) => {
    if (typeof member === 'number') return { number: source };
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).filter(([, inner]) => inner !== null));
  });

test.each(cases)('$field keeps what is not named', async (it) => {
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
      // What holds nothing of a record is refused.
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
