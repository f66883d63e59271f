import type { FieldMap, InputFieldMap, InputObjectRef, ObjectRef, OutputType } from '@pothos/core';
import type { z } from 'zod';
import { unwrap } from '../../bank/response.ts';
import { type Body, type Field, metaOf, recordFields } from '../../contract/record.ts';
import { money } from '../../contract/shared-parts.ts';
import type { Changes } from '../../contract/updated-body.ts';
import { badUserInput } from '../../errors.ts';
import { ofSource, propertyResolver } from '../../executor/known-resolvers.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isObject } from '../../is-object.ts';
import { builder, type InputFields, type ObjectFields, type Types } from '../builder.ts';
import { parseDateTime } from '../date-time.ts';
import { answeredByIds, fieldExtensions } from './field-extensions.ts';
import { notGlobalId } from './global-id.ts';
import { NodeInterface, type NodeRef, type NodeType } from './node.ts';

/** Makes GraphQL fields and inputs from the records of the contract (contract/record.ts), and REST bodies from inputs. */

/** A record of the bank, or an input: values by their names. */
type Values = Readonly<Record<string, unknown>>;

type Place = 'answer' | 'input' | 'changes';

/** A field of an answer is null if the bank leaves it out: docs/clients.md says so once for all of them. */
function descriptionOf({ description, rest, notes = {} }: Field, place: Place): string {
  const note = place === 'changes' ? (notes.changes ?? notes.input) : notes[place];
  return `${description} REST \`${rest}\`${note ?? ''}.`;
}

/** Implements the type of a node: the fields of its record but for `except`, its ids, and those of its own. */
export const implementNode = <Ids extends object, Item extends Values>(
  nodeType: NodeType<Ids, Item>,
  record: z.ZodObject,
  ownFields: (t: ObjectFields<NodeRef<Ids, Item>>) => FieldMap = () => ({}),
  except?: readonly string[],
) =>
  nodeType.object.implement({
    description: metaOf(record).description ?? '',
    interfaces: [NodeInterface],
    fields: (t) => ({
      ...fieldsOf(t, record, 'record', except),
      id: t.id(nodeType.idField),
      ...bankIdField(t, record),
      ...ownFields(t),
    }),
  });

/** The field of a record that has its own id; undefined if it has none. */
export const ownIdIn = (record: z.ZodObject) => recordFields(record).find(({ isOwnId }) => isOwnId);

/** The field for the bank's id of an entry that is looked up in a list. */
function bankIdField<Parent extends NodeRef<object, Values>>(
  t: ObjectFields<Parent>,
  of: z.ZodObject,
): FieldMap {
  const own = ownIdIn(of);
  if (own === undefined) return {};
  const { name, description, rest } = own;
  return {
    [name]: t.id({
      description: `${description} REST \`${rest}\` (not in every entry).`,
      extensions: answeredByIds,
      // If the bank sent something other than text, the record holds an error here.
      resolve: ofSource((node: Parent) => (node as Values)[name] ?? node.record?.[rest]) as never,
    }),
  };
}

/** The member of a parent that contains the record; null if the parent is the record. */
type Holder = 'record' | null;

/**
 * The fields of a record, except fields for which the type has its own resolvers.
 * Errors of a field: BANK_BAD_RESPONSE if the bank broke the contract there.
 */
export function fieldsOf<Parent>(
  t: ObjectFields<Parent>,
  record: z.ZodObject,
  holder: Holder,
  except: readonly string[] = [],
): FieldMap {
  const map: FieldMap = {};
  for (const field of recordFields(record)) {
    const { name, isList, also } = field;
    if (field.isOwnId || except.includes(name)) continue;
    const type: OutputType<Types> = typeof field.type === 'string' ? field.type : objectType(field.type);
    const description = descriptionOf(field, 'answer');
    // The contract's shape guarantees the type of the value.
    const resolve = resolverOf(field, holder) as never;
    const extensions = fieldExtensions({ shows: field });
    map[name] = isList
      ? t.field({ type: [type], nullable: { list: true, items: true }, description, extensions, resolve })
      : t.field({ type, description, extensions, resolve });
    if (also !== undefined) map[also.name] = preciseField(t, field, also, holder);
  }
  return map;
}

/** A node, or a part of a record. */
type Parent = Values & { readonly record?: Values };

/** If a field is selected, its link has read the record. */
const resolverOf = ({ rest, isOnlyEntry }: Field, holder: Holder) =>
  isOnlyEntry
    ? ofSource((parent: Parent) => listOf(recordIn(parent, holder)[rest]))
    : propertyResolver(rest, holder);

const recordIn = (parent: Parent, holder: Holder): Values =>
  holder === null ? parent : (parent.record as Values);

/** The text of another field in a more precise form. Errors: the BANK_BAD_RESPONSE in the place of the text. */
function preciseField<P>(t: ObjectFields<P>, field: Field, also: NonNullable<Field['also']>, holder: Holder) {
  const { description, rest } = field;
  const extensions = fieldExtensions({ shows: field });
  const textIn = (record: Values): string | null => {
    const text = unwrap(record[rest]);
    return typeof text === 'string' ? text : null;
  };
  if ('list' in also)
    return t.field({
      type: [also.list],
      description: `${description} As a list. REST \`${rest}\`.`,
      extensions,
      resolve: (parent) =>
        textIn(recordIn(parent as Parent, holder))
          // Texts are split at commas alone and then trimmed: `\s*,\s*` would search again at each character of long white space.
          ?.split(also.list === 'ID' ? /[\s,]+/ : ',')
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ''),
    });
  return t.field({
    type: 'DateTime',
    description: `${description} Null if unreadable. REST \`${rest}\`.`,
    extensions,
    resolve: (parent, _args, { session }) => {
      const record = recordIn(parent as Parent, holder);
      const text = textIn(record);
      if (!text) return null;
      const date = parseDateTime(text);
      if (date === null) session.noteDrift({ operation: also.dateOf, field: rest }, record);
      return date;
    },
  });
}

/** A list that the bank may have written as its only entry. Errors: the BANK_BAD_RESPONSE in its place. */
export function listOf<T>(value: T | readonly T[] | null | undefined): readonly T[] | null {
  const list = unwrap(value) ?? null;
  return list === null || Array.isArray(list) ? (list as readonly T[] | null) : [list as T];
}

const made = new Map<string, unknown>();

/** A GraphQL type that several records use: it is made at its first use. */
// No two types have the same name.
const once = <T>(name: string, make: () => T): T => getOrMake(made, name, make) as T;

/** The GraphQL type of an object that is a part of records. */
export function objectType<T extends z.ZodObject>(record: T): ObjectRef<Types, z.infer<T>> {
  const { name = '', description = '' } = metaOf(record);
  return once(name, () =>
    builder.objectRef<z.infer<T>>(name).implement({ description, fields: (t) => fieldsOf(t, record, null) }),
  );
}

/** The GraphQL input of a whole record, or of a part of one. The first use gives its description. */
export function inputType(record: z.ZodObject, described?: string): InputObjectRef<Types, Values> {
  const { name: type, input = {} } = metaOf(record);
  const name = input.name ?? `${type}Input`;
  const description = described ?? input.description ?? metaOf(record).description ?? '';
  return once(name, () => builder.inputType(name, { description, fields: (t) => inputFields(t, record) }));
}

/** The GraphQL input that changes a record. Omitted members keep their values. */
export function changesType(record: z.ZodObject, described?: string): InputObjectRef<Types, Values> {
  const { name: type, changes } = metaOf(record);
  const name = changes?.name ?? `${type}Changes`;
  const description = changes?.description ?? described ?? '';
  return once(name, () =>
    builder.inputType(name, { description, fields: (t) => inputFields(t, record, 'changes') }),
  );
}

/** The input fields of a record. */
export function inputFields(
  t: InputFields,
  record: z.ZodObject,
  place: 'input' | 'changes' = 'input',
): InputFieldMap {
  const map: InputFieldMap = {};
  for (const field of recordFields(record)) {
    const { name, readOnly, isOwnId, isList } = field;
    if (readOnly || (isOwnId && place === 'changes')) continue;
    const part = place === 'changes' ? changeablePart(field) : null;
    const type =
      typeof field.type === 'string' ? field.type : part === null ? inputType(field.type) : changesType(part);
    const description = descriptionOf(field, place);
    const required = place === 'input' && (field.isRequired || field.requiredInBodies === true);
    map[name] = isList
      ? t.field({ type: [type], required, description })
      : t.field({ type, required, description });
  }
  return map;
}

/** The object that a field holds, if changes can name its members; null if they replace the value whole. */
const changeablePart = ({ type, isList }: Field): z.ZodObject | null =>
  typeof type === 'object' && !isList && metaOf(type).changes !== undefined ? type : null;

/**
 * Converts an input into a body: an explicit null counts as an absent member. `path` leads to the input in messages, such as
 * `to.`.
 * Errors: BAD_USER_INPUT for a global id in the place of one of the bank's, or a list of more or fewer than one entry where the
 * bank takes one.
 */
export const toBody = <T extends z.ZodObject>(record: T, input: Values, path = ''): Body<T> =>
  membersOf(record, input, path) as Body<T>;

/** The changes of a body that an input's `changes` make: undefined keeps a member, null clears it. Errors: as toBody. */
export const toChanges = <T extends z.ZodObject>(record: T, changes: Values): Changes<Body<T>> =>
  changesOf(record, changes, 'changes.') as Changes<Body<T>>;

function membersOf(record: z.ZodObject, input: Values, path: string): Values {
  const body: Record<string, unknown> = {};
  for (const field of recordFields(record)) {
    const value = restValue(field, input[field.name], `${path}${field.name}`);
    if (value != null) body[field.rest] = value;
  }
  return body;
}

function changesOf(record: z.ZodObject, changes: Values, path: string): Values {
  const made: Record<string, unknown> = {};
  for (const field of recordFields(record)) {
    const place = `${path}${field.name}`;
    const change = changes[field.name];
    if (change === undefined) continue;
    const part = changeablePart(field);
    made[field.rest] =
      part !== null && isObject(change)
        ? changesOf(part, change, `${place}.`)
        : restValue(field, change, place);
  }
  return made;
}

/**
 * The path in changes, such as `balance.amount`, that is null and so clears the member of a body with the path `rest`; null
 * if the changes do not name that member, or give it a value.
 */
export function clearedBy(
  record: z.ZodObject,
  changes: unknown,
  [rest, ...below]: readonly string[],
): string | null {
  const field = recordFields(record).find((each) => each.rest === rest);
  if (field === undefined) return null;
  const { name, type } = field;
  const change = isObject(changes) ? changes[name] : undefined;
  if (below.length === 0) return change === null ? name : null;
  const path = typeof type === 'object' ? clearedBy(type, change, below) : null;
  return path && `${name}.${path}`;
}

/** The REST value for a value of an input. */
function restValue(field: Field, value: unknown, name: string): unknown {
  if (value === null || value === undefined) return value;
  if (field.isOnlyEntry) return onlyEntry(value, name);
  const { type } = field;
  if (typeof type === 'object')
    return Array.isArray(value)
      ? value.map((entry, index) => membersOf(type, entry, `${name}.${index}.`))
      : membersOf(type, value as Values, `${name}.`);
  if (field.isOwnId || field.holdsIds) for (const id of [value].flat()) notGlobalId(name, String(id));
  return value;
}

function onlyEntry(value: unknown, name: string): string {
  const [entry, ...others]: unknown[] = Array.isArray(value) ? value : [];
  if (typeof entry !== 'string' || others.length > 0)
    throw badUserInput(`${name} takes one bank here, since the bank's PUT does.`, name);
  return notGlobalId(name, entry);
}

/** The members of an input that are present: an explicit null counts as absent. */
export function omitNullish<T extends object>(input: T) {
  const present: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) if (value != null) present[name] = value;
  return present as { [K in keyof T]: Exclude<T[K], null> };
}

export const MoneyObject = objectType(money);
