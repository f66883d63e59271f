import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Operation } from '../src/contract/operation.ts';
import { operations } from '../src/contract/operations.ts';
import { metaOf } from '../src/contract/record.ts';

/**
 * Generates code that checks whether a record matches its operation's shape: contract/validators.generated.ts. zod copies a
 * record in order to report where and why it does not match; for a list of a hundred records, that takes a fifth of the time of
 * JSON.parse. Nearly every answer is valid, and this code finds that out in a fiftieth of the time.
 */
export function generateValidators(operations: readonly Operation[]): string {
  const printed = new Map<z.ZodObject | null, string>();
  const checks: string[] = [];
  const rows = operations.map(({ id, answer }) => {
    const known = printed.get(answer);
    if (known !== undefined) return `  ${id}: ${known},`;
    printed.set(answer, id);
    const condition = answer === null ? isObject('v') : conditionFor(answer, 'v', 1);
    checks.push(`const ${id} = (v: Json): boolean =>\n  ${condition};`);
    return `  ${id},`;
  });
  return `${head}\n${checks.join('\n\n')}\n\n${table}\n${rows.join('\n')}\n} as Readonly<Record<string, (record: unknown) => boolean>>;\n`;
}

const head = `// Printed by \`npm run contract\` from the shapes beside it: change those.
import { isDecimal, isIdList } from './common-schemas.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
`;

const table = `/**
 * Whether a record, or an entry of a list, keeps the shape of its operation's answers: by the operation's id. The record is a value
 * that JSON.parse made.
 */
export const validators = {`;

/** Generated inline, because a function call for each object would take as long as the rest. */
const isObject = (place: string) =>
  `typeof ${place} === 'object' && ${place} !== null && !Array.isArray(${place})`;

/** The condition that a value of the shape meets. `place` is the code that reads the value. */
function conditionFor(shape: z.core.$ZodType, place: string, depth: number): string {
  const { check } = metaOf(shape);
  if (check !== undefined) return `${check.name}(${place})`;
  if (shape instanceof z.ZodOptional && shape.def.innerType instanceof z.ZodNullable)
    return `(${place} == null || ${conditionFor(shape.def.innerType.def.innerType, place, depth)})`;
  if (shape instanceof z.ZodOptional)
    return `(${place} === undefined || ${conditionFor(shape.def.innerType, place, depth)})`;
  if (shape instanceof z.ZodNullable)
    return `(${place} === null || ${conditionFor(shape.def.innerType, place, depth)})`;
  const isPlain = (shape._zod.def.checks ?? []).length === 0;
  if (isPlain && shape instanceof z.ZodString) return `typeof ${place} === 'string'`;
  if (isPlain && shape instanceof z.ZodBoolean) return `typeof ${place} === 'boolean'`;
  if (isPlain && shape instanceof z.ZodNumber) return `Number.isFinite(${place})`;
  if (isPlain && shape instanceof z.ZodArray) {
    const entry = `v${depth}`;
    return `(Array.isArray(${place}) && ${place}.every((${entry}) => ${conditionFor(shape.def.element, entry, depth + 1)}))`;
  }
  if (isPlain && shape instanceof z.ZodObject && shape.def.catchall === undefined) {
    const fields = Object.entries(shape.def.shape).map(([key, field]) =>
      conditionFor(
        field,
        /^[A-Za-z_]\w*$/.test(key) ? `${place}.${key}` : `${place}[${JSON.stringify(key)}]`,
        depth + 1,
      ),
    );
    return `(${[isObject(place), ...fields].join(`\n${'  '.repeat(depth)}&& `)})`;
  }
  throw new Error(`no plain code says what keeps this shape: ${shape._zod.def.type} at ${place}`);
}

if (process.argv[1] === import.meta.filename)
  writeFileSync('src/contract/validators.generated.ts', generateValidators(Object.values(operations)));
