import {
  defaultFieldResolver,
  type GraphQLSchema,
  isObjectType,
  lexicographicSortSchema,
  responsePathAsArray,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { beforeEach, describe, expect, test } from 'vitest';
import { schema } from '../../src/schema/schema.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

/** Promise 22: bankql executes a resolver that a plugin has wrapped, even if the executor would resolve the field itself. */

/** The places at which a wrapper was called, and the place at which it throws. */
const called: string[] = [];
let throwing: string | null = null;
beforeEach(() => {
  called.length = 0;
  throwing = null;
});

/** Wraps each resolver in place, as plugins do. The extensions of the fields stay. */
function wrap(copy: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(copy.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve = defaultFieldResolver } = field;
      field.resolve = (source, args, context, info) => {
        called.push(responsePathAsArray(info.path).join('.'));
        if (`${type.name}.${field.name}` === throwing) throw new Error('the wrapper throws');
        return resolve(source, args, context, info);
      };
    }
  }
  return copy;
}

/** A copy with the same resolvers and extensions, as tools that transform schemas make it. */
const copyOf = (of: GraphQLSchema) => lexicographicSortSchema(of);

const inPlace: Plugin = {
  onSchemaChange({ schema }) {
    wrap(schema as GraphQLSchema);
  },
};

const query = `{ bank { account(accountId: "A") {
  accountId viewId label balance { amount }
  owners { legalName bank { bankId } }
  otherAccounts { totalCount nodes { iban } }
  transaction(transactionId: "T") { uuid account { accountId } }
} } }`;

/** The places of all fields in the answer, except those with an alias. */
function placesIn(value: unknown, at: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const place = [...at, key];
    return [...(Array.isArray(value) ? [] : [place.join('.')]), ...placesIn(member, place)];
  });
}

describe.each([
  ['mapped', { schema: wrap(copyOf(schema)) }],
  ['in place', { schema: copyOf(schema), plugins: [inPlace] }],
])('a schema with wrapped resolvers (%s)', (_how, options) => {
  test('calls each wrapper once, with the same answer and REST calls', async () => {
    await using plain = await startBankqlFixture();
    await using wrapped = await startBankqlFixture(options);
    plain.bank.otherwise(anyAnswer);
    wrapped.bank.otherwise(anyAnswer);
    const expected = await plain.ask(query);
    expect(expected.errors).toBeUndefined();
    expect(called).toEqual([]);
    expect(await wrapped.ask(query)).toEqual(expected);
    expect(called.toSorted()).toEqual(placesIn(expected.data).toSorted());
    expect(wrapped.bank.lines().sort()).toEqual(plain.bank.lines().sort());
  });

  test.each([
    ['a property', 'Account.label', 'label'],
    ['an id', 'Account.viewId', 'viewId'],
    ['an early list', 'Account.otherAccounts', 'otherAccounts'],
    ['an early link', 'Account.transaction', 'transaction'],
    ['a link from the record', 'Account.owners', 'owners'],
  ])('answers null and one error if the wrapper of %s throws', async (_what, coordinate, field) => {
    await using fixture = await startBankqlFixture(options);
    fixture.bank.otherwise(anyAnswer);
    throwing = coordinate;
    const result = await fixture.ask(query);
    expect(failuresOf(result)).toEqual([`bank.account.${field} INTERNAL`]);
    expect(called.filter((place) => place === `bank.account.${field}`)).toHaveLength(1);
    // Only ids are non-null.
    const account = coordinate === 'Account.viewId' ? null : { accountId: 'A', [field]: null };
    expect(result.data).toMatchObject({ bank: { account } });
  });
});
