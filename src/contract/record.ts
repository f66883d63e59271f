import { z } from 'zod';
import { getOrMake } from '../get-or-make.ts';
import type { Interpret } from './interpretations.ts';

/**
 * A record is a zod object: the shape of the record in the bank's answers, with REST's names, and one line for each field:
 *
 *     swift_bic: text.nullish().describe("The bank's BIC."),
 *
 * `.meta()` adds facts that a zod type cannot express. The rest is derived from the field's line: the shape of request bodies (`bodyOf`), the
 * fields of the GraphQL type, of its input and of its changes, and the mapping between them and REST
 * (schema/plugin/fields.ts).
 */
declare module 'zod' {
  interface GlobalMeta extends FieldMeta, RecordMeta, ScalarMeta {
    /** The name of the field or type in GraphQL. The default for a field is its REST name in camel case. */
    name?: string;
  }
}

interface ScalarMeta {
  /** The GraphQL type, if it does not follow from the zod type. */
  scalar?: 'Decimal' | 'ID';
  /** Interprets other forms in which banks write the value. */
  interpret?: Interpret;
  /** Checks a value like the schema, but creates no error. */
  check?: (value: unknown) => boolean;
}

interface FieldMeta {
  /** Whether the member is required in request bodies and inputs, although answers may lack it. */
  requiredInBodies?: true;
  /** Whether only answers have the member. */
  readOnly?: true;
  /** Whether these are ids of other records. They are IDs in GraphQL, and inputs reject global ids. */
  holdsIds?: true;
  /** The type of the entries, if the text is a list in GraphQL. Texts are split at commas; ids also at white space. */
  listOf?: 'String' | 'ID';
  /**
   * Whether the field is a list in GraphQL although request bodies contain only its single entry. Answers contain the entry or
   * the list.
   */
  isOnlyEntry?: true;
  /**
   * Texts that are appended to the field's description: in the GraphQL type, in inputs, and in changes (by default the text
   * for inputs).
   */
  notes?: { readonly answer?: string; readonly input?: string; readonly changes?: string };
  /** A second GraphQL field, which shows the text as a date. `dateOf`: the operation for which drift is counted. */
  also?: { readonly name: string; readonly dateOf: string };
}

interface RecordMeta {
  /** The REST names in the order of the lines. Request bodies have this order too. */
  lines?: readonly string[];
  /** The GraphQL input type, if it has another name than the type's name with "Input", or another description. */
  input?: { readonly name?: string; readonly description?: string };
  /** The GraphQL type of changes. Its default name ends in "Changes". Without this entry, a change replaces the whole value. */
  changes?: { readonly name?: string; readonly description: string };
}

/** The metadata of a schema. A clone by `.meta()` or `.describe()` also has the metadata of the original. */
export const metaOf = (schema: z.core.$ZodType): z.GlobalMeta => z.globalRegistry.get(schema) ?? {};

interface RecordOptions extends Pick<RecordMeta, 'input' | 'changes'> {
  /** Whether the shape keeps the order of the lines. By default the order is alphabetical, as in the specification. */
  readonly keepsOrder?: true;
}

/** Creates the schema of a record or of a part of one. A record's version depends on the order of the members. */
export function record<T extends z.ZodRawShape>(
  name: string,
  description: string,
  lines: T,
  { keepsOrder, ...meta }: RecordOptions = {},
): z.ZodObject<T> {
  const shape = keepsOrder ? lines : Object.fromEntries(Object.entries(lines).sort(bySpecification));
  return z.object(shape as T).meta({ name, description, lines: Object.keys(lines), ...meta });
}

/** Sorts members by name. Members that occur only in answers come last. */
const bySpecification = ([a, one]: [string, z.core.$ZodType], [b, other]: [string, z.core.$ZodType]) =>
  Number(metaOf(one).readOnly ?? false) - Number(metaOf(other).readOnly ?? false) ||
  (a.toLowerCase() < b.toLowerCase() ? -1 : 1);

/** A field of a record, derived from the field's line in the zod object. */
export interface Field extends FieldMeta {
  /** The name of the member in the bank's JSON. */
  readonly rest: string;
  readonly name: string;
  /** The meaning of the field: the beginning of its description. */
  readonly description: string;
  readonly type: 'Boolean' | 'Decimal' | 'Float' | 'ID' | 'String' | z.ZodObject;
  readonly isList: boolean;
  /** Whether every answer has the member. Every request body then has it too. */
  readonly isRequired: boolean;
  /** Whether this is the record's own id, which is also in the path. GraphQL shows it; changes leave it out. */
  readonly isOwnId: boolean;
}

const fields = new WeakMap<z.ZodObject, readonly Field[]>();

/** The fields of a record, in the order of its lines. */
export const recordFields = (of: z.ZodObject): readonly Field[] =>
  getOrMake(fields, of, () => (metaOf(of).lines ?? Object.keys(of.shape)).map((rest) => readField(rest, of)));

/** Errors: Error if the record has no such member. */
export function recordField<T extends z.ZodObject>(of: T, rest: keyof z.infer<T>): Field {
  const found = recordFields(of).find((field) => field.rest === rest);
  if (found === undefined) throw new Error(`the record has no member ${String(rest)}`);
  return found;
}

/** The default name of a member in GraphQL: `swiftBic` for `swift_bic`. */
export const camelCase = (rest: string): string =>
  rest.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

function readField(rest: string, { shape }: z.ZodObject): Field {
  const member: z.core.$ZodType = shape[rest];
  const value = withoutNull(member);
  const meta = metaOf(member);
  const entry = value instanceof z.ZodArray ? value.element : value;
  return {
    name: camelCase(rest),
    description: '',
    ...meta,
    rest,
    type:
      entry instanceof z.ZodObject
        ? entry
        : entry instanceof z.ZodBoolean
          ? 'Boolean'
          : entry instanceof z.ZodNumber
            ? 'Float'
            : (meta.listOf ?? metaOf(entry).scalar ?? (meta.holdsIds ? 'ID' : 'String')),
    isList: value instanceof z.ZodArray || meta.isOnlyEntry === true || meta.listOf !== undefined,
    isRequired: value === member,
    isOwnId: rest === 'id',
  };
}

/** The schema without null and undefined. */
export const withoutNull = (schema: z.core.$ZodType): z.core.$ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? withoutNull(schema.def.innerType)
    : schema;

type BodyShape<T> = { [K in keyof T]: InBody<T[K]> };
type InBody<T> =
  T extends z.ZodOptional<z.ZodNullable<infer Value>>
    ? z.ZodOptional<InBody<Value>>
    : T extends z.ZodObject<infer Shape>
      ? z.ZodObject<BodyShape<Shape>, z.core.$strict>
      : T extends z.ZodArray<infer Entry>
        ? z.ZodArray<InBody<Entry>>
        : T;

/** A record in the body of a request. A member with `requiredInBodies` is optional in this type; the shape requires it. */
export type Body<T extends z.ZodObject> = z.infer<z.ZodObject<BodyShape<T['shape']>, z.core.$strict>>;

/** The shape of a record in a request body: it has no nulls, and no member that only answers have. */
export function bodyOf<T extends z.ZodObject>({
  shape,
}: T): z.ZodObject<BodyShape<T['shape']>, z.core.$strict> {
  const members = Object.entries<z.core.$ZodType>(shape)
    .filter(([, member]) => !metaOf(member).readOnly)
    .map(([rest, member]) => [rest, inBody(member)]);
  // Object.fromEntries cannot infer the types of the members.
  return z.strictObject(Object.fromEntries(members)) as never;
}

function inBody(member: z.core.$ZodType): z.core.$ZodType {
  const value = withoutNull(member);
  const inside =
    value instanceof z.ZodObject
      ? bodyOf(value)
      : value instanceof z.ZodArray
        ? z.array(inBody(value.element))
        : value;
  return value === member || metaOf(member).requiredInBodies ? inside : z.optional(inside);
}

/** Whether a value of a record is empty: absent, null, or an empty text or list. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
