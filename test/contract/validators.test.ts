import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { generateValidators } from '../../bin/generate-validators.ts';
import { isDecimal, isIdList } from '../../src/contract/common-schemas.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { metaOf } from '../../src/contract/record.ts';
import { validators } from '../../src/contract/validators.generated.ts';

const rows: readonly Operation[] = Object.values(operations);

test('validators.generated.ts is what `npm run contract` prints', () => {
  const file = readFileSync(new URL('../../src/contract/validators.generated.ts', import.meta.url), 'utf8');
  expect(file).toBe(generateValidators(rows));
});

test('a shape without a generated check is not printed', () => {
  const row = { ...operations.getCustomer, answer: z.object({ email: z.string().min(1) }) };
  expect(() => generateValidators([row])).toThrow('string at v.email');
  const strict = { ...operations.getCustomer, answer: z.strictObject({}) };
  expect(() => generateValidators([strict])).toThrow('object at v');
});

/** Values that match a shape, in the forms in which a bank may write them. */
function valuesOf(shape: z.core.$ZodType): fc.Arbitrary<unknown> {
  if (metaOf(shape).check === isDecimal)
    return fc.constantFrom('0', '-1.10', '1e3', '12345678901234567890.00', `1${'0'.repeat(999)}`);
  if (metaOf(shape).check === isIdList)
    return fc.string().filter((text) => !text.trimStart().startsWith('['));
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable)
    return fc.oneof(
      { weight: 3, arbitrary: valuesOf(shape.def.innerType) },
      fc.constant(shape instanceof z.ZodOptional ? undefined : null),
    );
  if (shape instanceof z.ZodArray) return fc.array(valuesOf(shape.def.element), { maxLength: 3 });
  if (shape instanceof z.ZodObject)
    return fc.record(
      Object.fromEntries(Object.entries(shape.def.shape).map(([key, field]) => [key, valuesOf(field)])),
    );
  if (shape instanceof z.ZodString) return fc.string();
  if (shape instanceof z.ZodBoolean) return fc.boolean();
  return fc.double({ noNaN: true, noDefaultInfinity: true });
}

/** Values that a bank may write in place of another value. */
const oddValue = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    '1',
    'NaN',
    '["T1","T2"]',
    '1e1001',
    '9'.repeat(1001),
    0,
    Number.POSITIVE_INFINITY,
    true,
    {},
    [],
  ),
  fc.jsonValue(),
);

/** A value in which one member is replaced. The steps choose the member. */
function spoiled(value: unknown, [step, ...rest]: readonly number[], odd: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return odd;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(keys.length, 1)];
  if (key === undefined) return odd;
  const copy: object = Array.isArray(value) ? [...value] : { ...value };
  Reflect.set(copy, key, spoiled(Reflect.get(value, key), rest, odd));
  return copy;
}

/** Whether zod accepts the record. */
const keeps = (row: Operation, record: unknown) =>
  (row.answer ?? z.looseObject({})).safeParse(record).success;

/** One operation for each shape of an answer. */
const shapes = new Map(rows.map((row) => [row.answer, row] as const));

test.each([...shapes.values()])('$id: the code and zod agree on whole, broken and odd records', (row) => {
  const check = validators[row.id] ?? (() => expect.fail('there is no check'));
  const records = valuesOf(row.answer ?? z.looseObject({}));
  const places = fc.array(fc.nat(), { maxLength: 4 });
  fc.assert(
    fc.property(records, places, oddValue, (record, steps, odd) => {
      expect([check(record), keeps(row, record)]).toEqual([true, true]);
      for (const other of [spoiled(record, steps, odd), odd]) expect(check(other)).toBe(keeps(row, other));
    }),
    { seed: 20_251_120, numRuns: 600 },
  );
});
