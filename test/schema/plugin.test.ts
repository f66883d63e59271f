import { execute, parse } from 'graphql';
import { expect, test } from 'vitest';
import { getBranches } from '../../src/contract/branch.ts';
import { text } from '../../src/contract/common-schemas.ts';
import { record } from '../../src/contract/record.ts';
import { accountRef } from '../../src/contract/shared-parts.ts';
import { Account } from '../../src/schema/account.ts';
import { Branch } from '../../src/schema/branch.ts';
import { builder } from '../../src/schema/builder.ts';
import '../../src/schema/schema.ts';

/** A record that contains accounts: directly, in a part, and in a list. */
const order = record('PlannedPayment', 'A planned payment.', {
  id: text.nullish().meta({ name: 'orderId', description: 'Its id.' }),
  payee: accountRef.nullish().describe('Who is paid.'),
  fees: record('OrderFees', 'Who pays the fees.', {
    payer: accountRef.nullish().describe('Who pays them.'),
  })
    .nullish()
    .describe('The fees.'),
  earlier: accountRef.array().nullish().describe('Who was paid before.'),
});

test('an AccountRef leads to the account and the counterparty in any record', async () => {
  const asked: unknown[] = [];
  const named = (id: string) => ({ account_id: id, bank_id: null });
  const orders = [
    { id: 'o1', payee: named('p1'), fees: { payer: named('p2') }, earlier: [named('p3'), named('p4')] },
  ];
  const PlannedPayment = builder.bankRef(order, {
    key: [Account, 'orderId'],
    list: { operation: getBranches, load: async () => orders },
  });
  builder.bankNode(PlannedPayment);
  builder.objectField(Account, 'plannedPayments', (t) =>
    t.bankList(PlannedPayment, { description: 'Planned payments of the account.' }),
  );
  const bankql = {
    defaults: { bankId: 'BANK', viewId: 'owner' },
    lists: { charge: () => undefined },
    session: {
      hasEarlyCalls: true,
      loaders: {
        otherAccounts: {
          load: async (ids: unknown) => {
            asked.push(ids);
            return ['p1', 'p2', 'p3'].map((id) => ({ id, bank: 'BANK' }));
          },
        },
      },
    },
  };
  const fields = '{ accountId account { accountId viewId bankId } counterparty { otherAccountId } }';
  const document = parse(`{ bank { account(accountId: "A", viewId: "v") { plannedPayments { nodes {
    orderId bankId payee ${fields} fees { payer ${fields} } earlier ${fields}
  } } } } }`);
  const result = await execute({ schema: builder.toSchema(), document, contextValue: { bankql } });
  const leadsTo = (id: string, isKnown = true) => ({
    accountId: id,
    account: { accountId: id, viewId: 'v', bankId: 'BANK' },
    counterparty: isKnown ? { otherAccountId: id } : null,
  });
  expect(JSON.parse(JSON.stringify(result))).toEqual({
    data: {
      bank: {
        account: {
          plannedPayments: {
            nodes: [
              {
                orderId: 'o1',
                bankId: 'BANK',
                payee: leadsTo('p1'),
                fees: { payer: leadsTo('p2') },
                earlier: [leadsTo('p3'), leadsTo('p4', false)],
              },
            ],
          },
        },
      },
    },
  });
  expect(asked).toEqual(Array(4).fill({ bankId: 'BANK', accountId: 'A', viewId: 'v' }));
});

test.each(['id', 'bank', 'account', 'version'])(
  'a member of a record may not have the name of the field %s',
  (name) => {
    const shape = record(`Hidden${name}`, 'A record.', { [name]: text.nullish().describe('A member.') });
    const ref = builder.bankRef(shape, { key: [Account, 'hiddenId'], list: { operation: getBranches } });
    expect(() => builder.bankNode(ref)).toThrow(`${ref.name}.${name} is not a member of a record`);
  },
);

/** TypeScript must refuse each of these lines. */
const wrongUses = () => {
  builder.bankRef(order, {
    key: [Account, 'orderId'],
    // @ts-expect-error A list is identified by the ids of the key, and no others.
    list: { operation: getBranches, load: async ({ customerId }) => [{ id: customerId }] },
  });
  builder.objectFields(Account, (t) => ({
    // @ts-expect-error Neither the parent nor the arguments have all ids of the key.
    nearest: t.link(Branch, { description: '' }),
    // @ts-expect-error A link needs all ids of the key.
    branch: t.link(Branch, { description: '', ids: ({ bankId }) => ({ bankId }) }),
    other: t.link(Branch, {
      description: '',
      args: { n: t.arg.int({ required: true }) },
      // @ts-expect-error The arguments have the types of the schema.
      ids: ({ bankId }, { n }) => ({ bankId, branchId: n }),
    }),
    // @ts-expect-error The entries are those of the list's record.
    branches: t.bankList(Branch, { description: '', load: async () => [{ label: 'an account' }] }),
    labels: t.links(Branch, {
      description: '',
      // @ts-expect-error The record of an account has no branches.
      entries: ({ record }) => record.branches,
    }),
    // @ts-expect-error There is no such option.
    one: t.link(Branch, { description: '', id: 'branchId' }),
    part: t.field({
      type: builder.bankObject(accountRef),
      // @ts-expect-error A part of a record has the types of its shape.
      resolve: () => ({ account_id: 1 }),
    }),
    placed: t.field({
      type: builder.bankPart(accountRef),
      // @ts-expect-error A part that knows its record has the record's ids.
      resolve: () => ({ record: {} }),
    }),
  }));
};

test('ids, arguments and entries have the types of their records', () => {
  // tsc checks this function (`npm run check:types`); it is never called.
  expect(wrongUses).toBeTypeOf('function');
});
