import type {
  FieldMap,
  InputFieldMap,
  InputFieldsFromShape,
  InputObjectRef,
  ObjectRef,
  OutputType,
} from '@pothos/core';
import { unwrap } from '../bank/response.ts';
import type {
  Answer,
  AnyResource,
  Body,
  ChangesInput,
  Field,
  Fields,
  Input,
  Resource,
} from '../contract/resource.ts';
import { money } from '../contract/shared-parts.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import { ofSource } from '../executor/selection.ts';
import { getOrMake } from '../get-or-make.ts';
import { builder, type InputFields, type ObjectFields, type Types } from './builder.ts';
import { parseDateTime } from './date-time.ts';
import { type EstimateContext, fieldExtensions, startPrefetch } from './field-extensions.ts';
import { notGlobalId } from './global-id.ts';
import { NodeInterface, type NodeRef, type NodeType } from './node.ts';
import { currencyCodeOf, minorUnitsOf } from './scalars.ts';

/** What the tables of the contract (contract/resource.ts) are in GraphQL: fields, inputs, and what becomes of them in REST. */

type Place = 'answer' | 'input' | 'changes';

function descriptionOf({ what, rest, options: { notes = {}, required } }: Field, place: Place): string {
  const note = place === 'changes' ? (notes.changes ?? notes.input) : notes[place];
  const isOptional = place === 'answer' && required !== 'answers' && required !== 'both';
  return `${what}${isOptional ? ' Null if the bank leaves it out.' : ''} REST \`${rest}\`${note ?? ''}.`;
}

/** Implements the type of a node: the fields of its record but for `except`, its global id, and those of its own. */
export const implementNode = <T extends Fields, Ids extends object, Item extends object>(
  nodeType: NodeType<Ids, Item>,
  resource: Resource<T>,
  ownFields: (t: ObjectFields<NodeRef<Ids, Item>>) => FieldMap = () => ({}),
  except?: readonly (keyof T)[],
) =>
  nodeType.object.implement({
    description: resource.description,
    interfaces: [NodeInterface],
    fields: (t) => ({
      ...fieldsOf(t, resource.fields, 'record', except),
      id: t.id(nodeType.idField),
      ...(nodeType.isListed && listedId(t, resource.fields, nodeType)),
      ...ownFields(t),
    }),
  });

/** The field of a record that has its own id, by its name; undefined if it has none. */
export const ownIdIn = (fields: Fields) => Object.entries(fields).find(([, { options }]) => options.isOwnId);

/** The field for the bank's id of an entry that is looked up in a list. */
function listedId<Ids extends object, Item extends object>(
  t: ObjectFields<NodeRef<Ids, Item>>,
  fields: Fields,
  nodeType: NodeType<Ids, Item>,
): FieldMap {
  const own = ownIdIn(fields);
  if (own === undefined) return {};
  const [name, { what, rest }] = own;
  const idOf = (node: object): string | null => Reflect.get(node, name);
  return {
    [name]: t.id({
      nullable: true,
      description: `${what} REST \`${rest}\`, which the bank may leave out, or give to several entries; \`id\` is then positional.`,
      extensions: fieldExtensions({
        answeredByIds: true,
        estimate: (node: Ids, _args: object, context: EstimateContext) => {
          if (idOf(node) === null) startPrefetch(() => nodeType.read(node, context));
          return null;
        },
      }),
      resolve: (node, _args, context) => {
        const { record } = node;
        const id = idOf(node);
        // If the bank sent something other than text, the record holds an error here.
        if (id !== null || record !== undefined) return id ?? Reflect.get(record ?? {}, rest);
        return nodeType.read(node, context).then((read) => Reflect.get(read, rest));
      },
    }),
  };
}

/** The member of a parent that is the record; null if the parent itself is. */
type Holder = 'record' | 'named' | null;

/**
 * The fields of a record, without those that the type has resolvers of its own for.
 * Errors of a field: BANK_BAD_RESPONSE if the bank broke the contract there.
 */
export function fieldsOf<Parent>(
  t: ObjectFields<Parent>,
  fields: Fields,
  holder: Holder,
  except: readonly PropertyKey[] = [],
): FieldMap {
  const map: FieldMap = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.options.isOwnId || except.includes(name)) continue;
    const { of, isList } = field.type;
    const type: OutputType<Types> = typeof of === 'string' ? of : objectType(of);
    const description = descriptionOf(field, 'answer');
    const resolve = resolverOf<Parent>(field, holder);
    const extensions = fieldExtensions({ shows: field });
    map[name] = isList
      ? t.field({ type: [type], nullable: { list: true, items: true }, description, extensions, resolve })
      : t.field({ type, nullable: true, description, extensions, resolve });
    const { also } = field.options;
    if (also !== undefined) map[also.name] = preciseField(t, name, field, also, holder);
  }
  return map;
}

const made = new Map<string, unknown>();

/** A GraphQL type that several tables use: it is made at its first use. */
// No two types have the same name.
const once = <T>(name: string, make: () => T): T => getOrMake(made, name, make) as T;

/** An enum of words that are known, with OTHER for all others. */
function makeEnum(name: string, words: readonly string[]) {
  const nameOf = (word: string) =>
    word
      .trim()
      .toUpperCase()
      .replaceAll(/[\s-]+/g, '_');
  const names = new Set(words.map(nameOf));
  const values: Record<string, { description: string }> = {
    ...Object.fromEntries(
      words.map((word) => [nameOf(word), { description: `The bank writes \`${word}\`.` }]),
    ),
    OTHER: { description: 'The bank writes another text. The field without `Code` in its name contains it.' },
  };
  const type = builder.enumType(name, {
    description:
      'Texts of the bank that this version knows. The specification lists none, and later versions may know more.',
    values,
  });
  /** Null for no text. */
  const codeOf = (text: unknown): string | null => {
    if (typeof text !== 'string' || text.trim() === '') return null;
    return names.has(nameOf(text)) ? nameOf(text) : 'OTHER';
  };
  return { type, codeOf };
}

/** The text of another field in a more precise form. Errors: the BANK_BAD_RESPONSE in the place of the text. */
function preciseField<Parent>(
  t: ObjectFields<Parent>,
  beside: string,
  field: Field,
  also: NonNullable<Field['options']['also']>,
  holder: Holder,
) {
  const { what, rest } = field;
  const { isList } = field.type;
  const extensions = fieldExtensions({ shows: field });
  const recordIn = (parent: Parent): object =>
    holder === null ? Object(parent) : Reflect.get(Object(parent), holder);
  const textIn = (record: object): string | null => {
    const text: unknown = unwrap(Reflect.get(record, rest));
    return typeof text === 'string' ? text : null;
  };
  if ('list' in also)
    return t.field({
      type: [also.list],
      nullable: { list: true, items: false },
      description: `${what} One list entry for each. REST \`${rest}\`.`,
      extensions,
      resolve: (parent) =>
        textIn(recordIn(parent))
          // With white space in the separator, the search would begin again at each of its characters.
          ?.split(also.list === 'ID' ? /[\s,]+/ : ',')
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ''),
    });
  if ('enum' in also) {
    const { type, codeOf } = once(also.enum, () => makeEnum(also.enum, also.values));
    const description = `${what} Null if the bank leaves it out; \`OTHER\` if this version does not know the bank's text in \`${beside}\`. REST \`${rest}\`.`;
    const valueIn = (parent: Parent): unknown => unwrap(Reflect.get(recordIn(parent), rest));
    return isList
      ? t.field({
          type: [type],
          nullable: { list: true, items: false },
          description,
          extensions,
          resolve: (parent) => listOf(valueIn(parent))?.flatMap((word) => codeOf(unwrap(word)) ?? []),
        })
      : t.field({
          type,
          nullable: true,
          description,
          extensions,
          resolve: (parent) => codeOf(valueIn(parent)),
        });
  }
  return t.field({
    type: 'DateTime',
    nullable: true,
    description: `${what} Null if the bank gave no time, or in a form that \`DateTime\` does not list; without an offset it is UTC. REST \`${rest}\`.`,
    extensions,
    resolve: (parent, _args, { session }) => {
      const record = recordIn(parent);
      const text = textIn(record);
      if (text === null || text === '') return null;
      const date = parseDateTime(text);
      if (date === null) session.noteDrift({ operation: also.dateOf, field: rest }, record);
      return date;
    },
  });
}

/** The contract's shape guarantees the type of the value, which depends on the field. */
function resolverOf<Parent>({ rest, type }: Field, holder: Holder) {
  const valueIn =
    holder === null
      ? (parent: Parent): never => parent[rest as keyof Parent] as never
      : (parent: Parent): never => Reflect.get(parent[holder as keyof Parent] as object, rest) as never;
  return ofSource(type.isOnlyEntry ? (parent: Parent) => listOf(valueIn(parent)) as never : valueIn);
}

/** A list that the bank may have written as its only entry. Errors: the BANK_BAD_RESPONSE in its place. */
export function listOf<T>(value: T | readonly T[] | null | undefined): readonly T[] | null {
  const list = unwrap(value) ?? null;
  return list === null || Array.isArray(list) ? (list as readonly T[] | null) : [list as T];
}

/** The GraphQL type of an object that is a part of records. */
export const objectType = <T extends Fields>({
  name,
  description,
  fields,
}: Resource<T> | AnyResource): ObjectRef<Types, Answer<Resource<T>>> =>
  once(name, () =>
    builder.objectRef<object>(name).implement({ description, fields: (t) => fieldsOf(t, fields, null) }),
  ) as never;

const makeInput = (
  name: string,
  description: string,
  fields: (t: InputFields) => InputFieldMap,
): InputObjectRef<Types, never> =>
  once(name, () => builder.inputType(name, { description, fields }) as InputObjectRef<Types, never>);

/** The GraphQL input of a whole record, or of a part of one. The first use gives its description. */
export const inputType = <T extends Fields>(
  { name, description, options: { input }, fields }: Resource<T> | AnyResource,
  described = input?.description ?? description,
): InputObjectRef<Types, Input<T>> =>
  // The fields have the types that Input derives from the table.
  makeInput(input?.name ?? `${name}Input`, described, (t) => inputFieldMap(t, fields, 'input')) as never;

/** The GraphQL input that changes a record: what it leaves out keeps its value. */
export const changesType = <T extends Fields>(
  { name, options: { changes }, fields }: Resource<T> | AnyResource,
  described = changes?.description ?? '',
): InputObjectRef<Types, ChangesInput<T>> =>
  makeInput(changes?.name ?? `${name}Changes`, described, (t) =>
    inputFieldMap(t, fields, 'changes'),
  ) as never;

/** The fields of the input of a whole record, for an input that has others besides. */
export const inputFields = <T extends Fields>(
  t: InputFields,
  { fields }: Resource<T>,
): InputFieldsFromShape<Types, Input<T>, 'InputObject'> => inputFieldMap(t, fields, 'input') as never;

/** The input fields of a table, with those that were called otherwise in earlier versions. */
function inputFieldMap(t: InputFields, fields: Fields, place: 'input' | 'changes'): InputFieldMap {
  const map: InputFieldMap = {};
  for (const [name, field] of Object.entries(fields)) {
    const { required, isReadOnly, isOwnId, formerly } = field.options;
    if (isReadOnly || (isOwnId && place === 'changes')) continue;
    const { of, isList } = field.type;
    const isPartlyChanged = place === 'changes' && typeof of === 'object' && of.options.changes !== undefined;
    const type = typeof of === 'string' ? of : isPartlyChanged ? changesType(of) : inputType(of);
    const description = descriptionOf(field, place);
    const isRequired = place === 'input' && (required === 'bodies' || required === 'both');
    map[name] = isList
      ? t.field({ type: [type], required: isRequired, description })
      : t.field({ type, required: isRequired, description });
    if (formerly === undefined || place === 'changes') continue;
    map[formerly.name] = t.field({
      type,
      description: `${field.what} REST \`${field.rest}\`${formerly.note ?? ''}.`,
      deprecationReason: `Renamed to \`${name}\`, as it is called where it is read.`,
    });
  }
  return map;
}

/**
 * The body that an input makes: an explicit null is an absent member. `path` leads to the input in messages, such as `to.`.
 * Errors: BAD_USER_INPUT for a global id in the place of one of the bank's, a list of more or fewer than one entry where
 * the bank takes one, or a field that has a value under its former name too.
 */
export const toBody = <T extends Fields>(
  { fields }: Resource<T>,
  input: Input<T>,
  path = '',
): Body<Resource<T>> => bodyOf(fields, input, path) as Body<Resource<T>>;

/** The changes of a body that those of the input make: undefined keeps a member, null clears it. Errors: as toBody. */
export const toChanges = <T extends Fields>(
  { fields }: Resource<T>,
  changes: ChangesInput<T>,
): Changes<Body<Resource<T>>> => changesOf(fields, changes, '') as Changes<Body<Resource<T>>>;

function bodyOf(fields: Fields, input: object, path: string): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const { formerly, isOwnId } = field.options;
    let value = restValue(field, Reflect.get(input, name), `${path}${name}`);
    if (formerly !== undefined) {
      const former: unknown = Reflect.get(input, formerly.name);
      if (value != null && former != null)
        throw badUserInput(
          `${name} and ${formerly.name} are the same field: give ${name} alone.`,
          `${path}${name}`,
        );
      value ??= isOwnId ? restValue(field, former, formerly.name) : former;
    }
    if (value != null) body[field.rest] = value;
  }
  return body;
}

function changesOf(fields: Fields, changes: object, path: string): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const change: unknown = Reflect.get(changes, name);
    if (change === undefined) continue;
    const { of, isList } = field.type;
    const isPartlyChanged = typeof of === 'object' && !isList && of.options.changes !== undefined;
    made[field.rest] =
      change !== null && isPartlyChanged
        ? changesOf(of.fields, Object(change), `${path}${name}.`)
        : restValue(field, change, `${path}${name}`);
  }
  return made;
}

/**
 * The path in changes, such as `balance.amount`, that is null and so clears the member of a body with the path `rest`; null
 * if the changes do not name that member, or give it a value.
 */
export function clearedBy(
  fields: Fields,
  changes: unknown,
  [rest, ...below]: readonly string[],
): string | null {
  const [name, field] = Object.entries(fields).find(([, each]) => each.rest === rest) ?? [];
  if (name === undefined || field === undefined) return null;
  const change: unknown = Reflect.get(Object(changes), name);
  if (below.length === 0) return change === null ? name : null;
  const { of } = field.type;
  const path = typeof of === 'object' ? clearedBy(of.fields, change, below) : null;
  return path && `${name}.${path}`;
}

/** The REST value for a value of an input. */
function restValue({ type, options }: Field, value: unknown, name: string): unknown {
  if (value === null || value === undefined) return value;
  if (type.isOnlyEntry) return onlyEntry(value, name);
  const { of } = type;
  if (typeof of === 'object')
    return Array.isArray(value)
      ? value.map((entry, index) => bodyOf(of.fields, entry, `${name}.${index}.`))
      : bodyOf(of.fields, value, `${name}.`);
  if (options.isOwnId || options.holdsIds) for (const id of [value].flat()) notGlobalId(name, String(id));
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
builder.objectFields(MoneyObject, (t) => ({
  currencyCode: t.field({
    type: 'CurrencyCode',
    nullable: true,
    description: 'The currency, if the bank wrote a code of three letters. REST `currency`.',
    resolve: ({ currency }) => currencyCodeOf(unwrap(currency)),
  }),
  minorUnits: t.int({
    nullable: true,
    description:
      'The amount as a count of the smallest unit of the currency by ISO 4217: 1250 for 12.50 EUR, 1250 for 1250 JPY. Null if the currency is unknown, if the amount has more decimals than it, or if it is too large for an Int (about 21 million EUR): `amount` has it then. REST `amount`.',
    resolve: ({ amount, currency }) => minorUnitsOf({ amount: unwrap(amount), currency: unwrap(currency) }),
  }),
}));
