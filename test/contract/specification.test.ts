import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { bodyOf, metaOf } from '../../src/contract/record.ts';
import * as shapes from '../../src/contract/shared-parts.ts';
import { type Described, type Fields, readSpecification } from '../support/specification.ts';

/** The specification's text, as the bank published it. */
const specification = readSpecification(new URL('../../docs/specification.md', import.meta.url));
const rows = specification.endpoints;
const table: readonly Operation[] = Object.values(operations);

/** What the endpoint table calls a request's body, and what the resource tables say of it. */
const bodiesIn: Readonly<Record<string, () => Fields | null>> = {
  none: () => null,
  'Customer (without `metadata`)': () => specification.resource('Customer', 'request'),
  Branch: () => specification.resource('Branch', 'request'),
  'transaction request input': () => specification.transactionRequest.input(),
  Account: () => specification.resource('Account', 'request'),
  'branch query (`id`, `name`)': () => specification.query('branches'),
  'other-account query (`IBAN`, `id`)': () => specification.query('other accounts'),
  Product: () => specification.resource('Product', 'request'),
  'make-transaction input': () => specification.transactionRequest.makeTransaction(),
  'metadata query (`id`)': () => specification.query('metadata'),
  'product query (`id`, `name`)': () => specification.query('products'),
  'Message (3 required fields)': () => specification.resource('Message', 'request'),
  Transaction: () => specification.resource('Transaction', 'request'),
};

const transactionRequests = {
  envelope: 'transaction-requests',
  fields: () => specification.transactionRequest.output(),
};
const resource = (heading: string) => ({
  envelope: null,
  fields: () => specification.resource(heading, 'answer'),
});
const list = (envelope: string, heading: string) => ({
  envelope,
  fields: () => specification.resource(heading, 'item'),
});

/** What the endpoint table calls an answer, the key of its list, and what the resource tables say of it. */
const bodiesOut: Readonly<Record<string, { envelope: string | null; fields: () => Fields | null }>> = {
  'no body shown': { envelope: null, fields: () => null },
  Customer: resource('Customer'),
  'Customer (with `metadata`)': resource('Customer'),
  Branch: resource('Branch'),
  Account: resource('Account'),
  'Product (`bank_id` as array)': resource('Product'),
  'Message with `date`': resource('Message'),
  Transaction: resource('Transaction'),
  '`{branches: [Branch]}`': list('branches', 'Branch'),
  '`{accounts: [Account]}`': list('accounts', 'Account'),
  '`{otherAccounts: [OtherAccount]}`': list('otherAccounts', 'Other account'),
  '`{metadata: [entry]}`': list('metadata', 'Metadata entry'),
  '`{product: [Product]}`': list('product', 'Product'),
  '`{messages: [Message with date]}`': list('messages', 'Message'),
  '`{transaction-requests: [item]}`': transactionRequests,
  '`{transaction-requests: [item]}` (required key)': transactionRequests,
};

const authMarks = { required: 'A', optional: 'a', none: 'none' } as const;

/** A shape of the code in the specification's terms; an amount's exact text is a number on the wire. */
function describeShape(shape: z.ZodType | z.core.$ZodType): Described {
  const bare = unwrap(shape);
  if (metaOf(bare).scalar === 'Decimal' || bare instanceof z.ZodNumber) return 'number';
  if (bare instanceof z.ZodString) return 'string';
  if (bare instanceof z.ZodBoolean) return 'boolean';
  if (bare instanceof z.ZodArray) return [describeShape(bare.element)];
  if (bare instanceof z.ZodObject) return describeFields(bare);
  throw new Error(`a shape that the specification has no word for: ${bare._zod.def.type}`);
}

const describeFields = (shape: z.ZodObject): Fields =>
  Object.fromEntries(
    Object.entries(shape.shape).map(([name, field]) => [
      field instanceof z.ZodOptional ? name : `${name}!`,
      describeShape(field),
    ]),
  );

const unwrap = (shape: z.core.$ZodType): z.core.$ZodType =>
  shape instanceof z.ZodOptional || shape instanceof z.ZodNullable ? unwrap(shape.unwrap()) : shape;

/** Every object in a shape, with the way that leads to it. */
function* objectsIn(shape: z.core.$ZodType, way = 'body'): Generator<[string, z.ZodObject]> {
  const bare = unwrap(shape);
  if (bare instanceof z.ZodArray) yield* objectsIn(bare.element, `${way}[]`);
  if (!(bare instanceof z.ZodObject)) return;
  yield [way, bare];
  for (const [name, field] of Object.entries(bare.shape)) yield* objectsIn(field, `${way}.${name}`);
}

describe('the table of operations is the specification’s endpoint table', () => {
  test('has its 20 rows, in its order', () => {
    expect(rows.map(({ number }) => Number(number))).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    const named = rows.map(({ operation }) =>
      operation === '(customer message PUT)' ? 'putCustomerMessage' : operation,
    );
    expect(Object.keys(operations)).toEqual(named);
    expect(table.map(({ id }) => id)).toEqual(named);
  });

  test('names row 11 itself, and every other as the specification’s list of names does', () => {
    expect(rows[10]?.operation).toBe('(customer message PUT)');
    expect(table[10]?.id).toBe('putCustomerMessage');
    expect(new Set([...specification.operationNames, 'putCustomerMessage'])).toEqual(
      new Set(Object.keys(operations)),
    );
    expect(specification.operationNames).toHaveLength(19);
  });

  test('knows the reads (GET, and the POST list operations) from the writes and the payments', () => {
    const lists = rows.filter(({ method, bodyIn }) => method === 'POST' && bodyIn.includes('query'));
    const reads = [...rows.filter(({ method }) => method === 'GET'), ...lists];
    const payments = ['transaction request input', 'make-transaction input'];
    expect(lists).toHaveLength(4);
    for (const [index, row] of rows.entries())
      expect(table[index]?.kind, row.operation).toBe(
        reads.includes(row) ? 'read' : payments.includes(row.bodyIn) ? 'payment' : 'write',
      );
  });

  test('has the placeholders that the specification explains, and no others', () => {
    const placeholders = table.flatMap(({ path }) =>
      [...path.matchAll(/\{(.+?)\}/g)].map(([, name]) => name),
    );
    expect(new Set(placeholders)).toEqual(new Set(specification.pathParameters));
  });

  describe.each(rows.map((row, index) => ({ ...row, index })))('row $number, $operation', (row) => {
    const operation = table[row.index];
    if (operation === undefined) throw new Error(`no operation for row ${row.number}`);

    test('has the method and the path', () => {
      expect(`${operation.method} ${operation.path}`).toBe(`${row.method} ${row.path}`);
    });

    test('carries a Track-ID and auth headers where the table marks them', () => {
      expect(operation.tracked ? 'T' : 'none').toBe(row.trackId);
      expect(authMarks[operation.auth]).toBe(row.authHeaders);
    });

    test('takes the body', () => {
      const expected = bodiesIn[row.bodyIn];
      if (expected === undefined) throw new Error(`the table has a new body: "${row.bodyIn}"`);
      expect(operation.body && describeFields(operation.body)).toEqual(expected());
    });

    test('answers with the body', () => {
      const expected = bodiesOut[row.bodyOut];
      if (expected === undefined) throw new Error(`the table has a new answer: "${row.bodyOut}"`);
      expect(operation.envelope).toBe(expected.envelope);
      expect(operation.answer && describeFields(operation.answer)).toEqual(expected.fields());
    });
  });
});

describe('shared structures', () => {
  test.each([
    ['Money', shapes.money],
    ['KeyValue', shapes.keyValue],
    ['AccountRef', shapes.accountRef],
    ['NameBox', shapes.nameBox],
  ])('%s is the same in answers and in request bodies', (name, answer: z.ZodObject) => {
    expect(describeShape(answer)).toEqual(specification.structure(name));
    expect(describeShape(bodyOf(answer))).toEqual(specification.structure(name));
  });

  test('are these, and Address, which only branches have', () => {
    expect(specification.structureNames).toEqual(['Money', 'KeyValue', 'AccountRef', 'Address', 'NameBox']);
    const { address } = operations.putBranchID.answer.shape;
    expect(describeShape(address)).toEqual(specification.structure('Address'));
  });
});

describe('what the specification leaves open', () => {
  const withBody = table.filter(({ body }) => body !== null);
  const withAnswer = table.filter(({ answer }) => answer !== null);

  test.each(withBody)('$id refuses fields that the contract does not name, at every depth', ({ body }) => {
    for (const [way, object] of objectsIn(body ?? z.never()))
      expect(object.def.catchall, way).toBeInstanceOf(z.ZodNever);
  });

  test.each(withBody)('$id takes no null in its body', ({ body }) => {
    for (const [way, object] of objectsIn(body ?? z.never()))
      for (const [name, field] of Object.entries(object.shape))
        expect(z.safeParse(field, null).success, `${way}.${name}`).toBe(false);
  });

  test.each(withAnswer)(
    '$id may answer with null where a field is optional, and only there',
    ({ answer }) => {
      for (const [way, object] of objectsIn(answer ?? z.never()))
        for (const [name, field] of Object.entries(object.shape))
          expect(z.safeParse(field, null).success, `${way}.${name}`).toBe(field instanceof z.ZodOptional);
    },
  );
});
