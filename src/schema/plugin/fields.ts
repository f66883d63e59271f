import SchemaBuilder, {
  type FieldMap,
  InputFieldBuilder,
  type InputFieldMap,
  type InputObjectRef,
  type ObjectRef,
} from '@pothos/core';
import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
import { type Field, metaOf, recordFields } from '../../contract/record.ts';
import { ofSource, propertyResolver } from '../../executor/known-resolvers.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isObject } from '../../is-object.ts';
import type { InputFields, ObjectFields, Types } from '../builder.ts';
import type { ResolverContext } from '../context.ts';
import { parseDateTime } from '../date-time.ts';

/** Makes GraphQL fields and inputs from the records of the contract (contract/record.ts). */

/** The values of a record of the bank or of an input, by their names. */
export type Values = Readonly<Record<string, unknown>>;

type Place = 'answer' | 'input' | 'changes';

/** A field is null if the bank leaves it out. docs/clients.md says this once, and the descriptions do not repeat it. */
function descriptionOf({ description, notes = {} }: Field, place: Place): string {
  const note = place === 'changes' ? (notes.changes ?? notes.input) : notes[place];
  return note === undefined ? description : `${description.replace(/\.$/, '')}${note}.`;
}

/** The field that contains the record's own id; undefined if the record has no id. */
export const ownIdIn = (record: z.ZodObject) => recordFields(record).find(({ isOwnId }) => isOwnId);

/** The parent's member that contains the record; null if the parent is the record itself. */
type Holder = 'record' | null;

/** A node, or a part of a record. */
export type Parent = Record<string, unknown> & { readonly record?: Values };

const recordIn = (parent: Parent, holder: Holder): Values =>
  holder === null ? parent : (parent.record as Values);

/**
 * The GraphQL fields of a record, except its own id and those in `omit`. The record is read before such a field is
 * resolved. Errors of a field: BANK_BAD_RESPONSE if the bank broke the contract there.
 */
export function fieldsOf(
  t: ObjectFields<Parent>,
  record: z.ZodObject,
  holder: Holder,
  omit: readonly string[] = [],
): FieldMap {
  const map: FieldMap = {};
  for (const field of recordFields(record)) {
    const { name, isList, also, listOf: parts } = field;
    if (field.isOwnId || omit.includes(name)) continue;
    const type = typeof field.type === 'string' ? field.type : t.builder.bankObject(field.type);
    // The contract's shape guarantees the type of the value.
    const resolve = resolverOf(field, holder) as () => never;
    const options = { description: descriptionOf(field, 'answer'), resolve };
    map[name] = isList
      ? t.field({ ...options, type: [type], nullable: { list: true, items: parts === undefined } })
      : t.field({ ...options, type });
    if (also !== undefined) map[also.name] = dateField(t, field, also, holder);
  }
  return map;
}

/** The field for the bank's id of an entry, if entries are looked up in a list. */
export function ownIdField(t: ObjectFields<Parent>, of: z.ZodObject): FieldMap {
  const own = ownIdIn(of);
  if (own === undefined) return {};
  const { name, description, rest } = own;
  return {
    [name]: t.id({
      description,
      fromIds: true,
      // If the bank sent something other than text, the record contains an error here.
      resolve: ofSource((node: Parent) => (node[name] ?? node.record?.[rest]) as string | null),
    }),
  };
}

const resolverOf = (field: Field, holder: Holder) => {
  const { rest, isOnlyEntry, type, listOf: parts } = field;
  if (parts !== undefined)
    return ofSource((parent: Parent) => partsOfText(parts, recordIn(parent, holder)[rest]));
  if (isOnlyEntry) return ofSource((parent: Parent) => listOf(recordIn(parent, holder)[rest]));
  if (typeof type === 'string' || !isPlaced(type)) return propertyResolver(rest, holder);
  return ofSource((parent: Parent) => partsOf(parent, recordIn(parent, holder)[rest]));
};

/** A part of a record, with the ids of the record. */
export type Part<Item> = {
  readonly record: Item;
  readonly bankId: string;
  readonly accountId?: string | null | undefined;
  readonly viewId?: string | undefined;
};

/** The part of a record, or all parts in a list. An error that replaces a value stays in its place. */
function partsOf(parent: Parent, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => partsOf(parent, entry));
  if (!isObject(value) || value instanceof Error) return value;
  const { bankId, accountId, viewId } = parent;
  return { record: value, bankId, accountId, viewId };
}

/** A value as text; null if it is not a text. Errors: the value itself, if it is a BANK_BAD_RESPONSE. */
function textOf(value: unknown): string | null {
  const text = unwrap(value);
  return typeof text === 'string' ? text : null;
}

/** Splits a text that is a list into its parts. Errors: the BANK_BAD_RESPONSE in place of the text. */
const partsOfText = (parts: 'String' | 'ID', value: unknown): string[] | undefined =>
  textOf(value)
    // Texts are split at commas alone and then trimmed: `\s*,\s*` would search again at each character of long white space.
    ?.split(parts === 'ID' ? /[\s,]+/ : ',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** The date in the text of another field. Errors: the BANK_BAD_RESPONSE in the place of the text. */
function dateField(t: ObjectFields<Parent>, field: Field, also: NonNullable<Field['also']>, holder: Holder) {
  const { description, rest } = field;
  return t.field({
    type: 'DateTime',
    description: `${description.replace(/\.$/, '')}; null if unreadable.`,
    resolve: (parent, _args, { bankql: { session } }: ResolverContext) => {
      const record = recordIn(parent, holder);
      const text = textOf(record[rest]);
      if (!text) return null;
      const date = parseDateTime(text);
      if (date === null) session.noteDrift({ operation: also.dateOf, field: rest }, record);
      return date;
    },
  });
}

/** A list; the bank may have written its only entry instead of the list. Errors: the BANK_BAD_RESPONSE in its place. */
export function listOf<T>(value: T | readonly T[] | null | undefined): readonly T[] | null {
  const list = unwrap(value) ?? null;
  return list === null || Array.isArray(list) ? (list as readonly T[] | null) : [list as T];
}

const made = new WeakMap<object, Map<string, unknown>>();

/** A GraphQL type that several records use: it is made at its first use. No two types have the same name. */
const once = <T>(builder: object, name: string, make: () => T): T =>
  getOrMake(
    getOrMake(made, builder, () => new Map()),
    name,
    make,
  ) as T;

const builderProto = SchemaBuilder.prototype as PothosSchemaTypes.SchemaBuilder<Types>;

builderProto.bankObject = function bankObject<T extends z.ZodObject>(
  this: PothosSchemaTypes.SchemaBuilder<Types>,
  shape: T,
): ObjectRef<Types, z.infer<T>> {
  const { name = '', description = '' } = metaOf(shape);
  return once(this, name, () =>
    this.objectRef<Parent>(name).implement({
      description,
      fields: (t) => fieldsOf(t, shape, isPlaced(shape) ? 'record' : null),
    }),
  ) as ObjectRef<Types, unknown> as ObjectRef<Types, z.infer<T>>;
};

/** The names of those parts that contain the ids of the record to which they belong. */
const placed = new Set<string>();

builderProto.bankPart = function bankPart<T extends z.ZodObject>(
  this: PothosSchemaTypes.SchemaBuilder<Types>,
  shape: T,
) {
  placed.add(metaOf(shape).name ?? '');
  return this.bankObject(shape) as ObjectRef<Types, unknown> as ObjectRef<Types, Part<z.infer<T>>>;
};

/** Whether a part of a record contains the record's ids, in itself or in one of its own parts. */
const isPlaced = (shape: z.ZodObject): boolean =>
  placed.has(metaOf(shape).name ?? '') ||
  recordFields(shape).some(({ type }) => typeof type === 'object' && isPlaced(type));

export interface RecordInputOptions {
  /** Set for the input of an update: members that it omits keep their values. */
  readonly changes?: true;
  /** The description, if the record does not give one. If several uses give one, the first counts. */
  readonly description?: string;
}

builderProto.bankInput = function bankInput(
  shape,
  { changes, description } = {},
): InputObjectRef<Types, Values> {
  const { name: type, description: ofRecord, input, changes: ofChanges } = metaOf(shape);
  const [name, described] = changes
    ? [ofChanges?.name ?? `${type}Changes`, ofChanges?.description ?? description]
    : [input?.name ?? `${type}Input`, description ?? input?.description ?? ofRecord];
  return once(this, name, () =>
    this.inputType(name, {
      description: described ?? '',
      fields: (t) => inputFields(t, shape, changes ? 'changes' : 'input'),
    }),
  ) as InputObjectRef<Types, Values>;
};

const inputProto = InputFieldBuilder.prototype as InputFields;

inputProto.bankFields = function bankFields(shape) {
  return inputFields(this, shape, 'input');
};

function inputFields(t: InputFields, shape: z.ZodObject, place: 'input' | 'changes'): InputFieldMap {
  const map: InputFieldMap = {};
  for (const field of recordFields(shape)) {
    const { name, readOnly, isOwnId, isList } = field;
    if (readOnly || (isOwnId && place === 'changes')) continue;
    const part = place === 'changes' ? changeablePart(field) : null;
    const type =
      typeof field.type === 'string'
        ? field.type
        : t.builder.bankInput(field.type, part === null ? {} : { changes: true });
    const required = place === 'input' && (field.isRequired || field.requiredInBodies === true);
    const options = { required, description: descriptionOf(field, place) };
    map[name] = isList ? t.field({ ...options, type: [type] }) : t.field({ ...options, type });
  }
  return map;
}

/**
 * The shape of the object in a field, if a change can name single members of it; null if a change replaces
 * the whole value.
 */
export const changeablePart = ({ type, isList }: Field): z.ZodObject | null =>
  typeof type === 'object' && !isList && metaOf(type).changes !== undefined ? type : null;
