import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import type { z } from 'zod';
import type { Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { metaOf, recordFields } from '../contract/record.ts';

/**
 * A field's extension `rest`: what the field is in REST. docs/rest-developers.md and GraphiQL's panel show it. It is
 * derived from the contract and the field's type; the field's own `extensions` contain what differs from this.
 */
interface RestExtension {
  /** The bank operations that the field itself may call. If there are none, the field costs no call. */
  readonly operations: readonly string[];
  /** The member of the bank's JSON that the field shows, such as `swift_bic`. */
  readonly member?: string | undefined;
}

type Field = GraphQLField<unknown, unknown>;

export const restOf = ({ extensions }: Field): RestExtension => extensions.rest as RestExtension;

/** All fields of the bank's types, by their coordinates, such as `Bank.branches`. */
export const fieldsInRest = (
  schema: GraphQLSchema,
): readonly (RestExtension & { readonly field: string })[] =>
  Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__') && !isPage(type))
    .flatMap((type) => (isObjectType(type) ? Object.values(type.getFields()) : []))
    .map((field) => ({ field: String(field), ...restOf(field) }));

/** Whether a type belongs to a page of a list: its fields make no calls of their own, because the list's field has read the entries. */
const isPage = ({ name }: GraphQLNamedType): boolean => /(Connection|Edge|PageInfo)$/.test(name);

/** Makes the extensions of a field whose operations do not follow from its type. */
export const calls = (...of: readonly Operation[]) => ({ rest: { operations: of.map(({ id }) => id) } });

/** Adds the extensions that follow from the contract to all fields. */
export function withRestExtensions(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const called = isPage(type) ? [] : operationsOf(field, schema);
      const rest = { operations: called, member: memberOf(type, field) };
      Object.assign(field.extensions, { rest: { ...rest, ...Object(field.extensions.rest) } });
    }
  }
  return schema;
}

const rows: readonly Operation[] = Object.values(operations);

/** The records of the contract, and their parts, by their names in GraphQL. */
const records = new Map<string, z.ZodObject>();
function addRecord(shape: z.ZodObject): void {
  records.set(metaOf(shape).name ?? '', shape);
  for (const { type } of recordFields(shape)) if (typeof type === 'object') addRecord(type);
}
for (const { answer } of rows) if (answer !== null) addRecord(answer);

function memberOf({ name }: GraphQLNamedType, field: Field): string | undefined {
  const shape = records.get(name);
  return shape && recordFields(shape).find((one) => [one.name, one.also?.name].includes(field.name))?.rest;
}

/** The operations that read the records to which a field leads: one record, or a list. */
function operationsOf(field: Field, schema: GraphQLSchema): readonly string[] {
  const type = getNamedType(field.type);
  const possible = isInterfaceType(type) ? schema.getPossibleTypes(type) : [type];
  return possible.flatMap((one) => readsOf(one, field, schema));
}

function readsOf(type: GraphQLNamedType, field: Field, schema: GraphQLSchema): readonly string[] {
  const entry = schema.getType(type.name.replace(/Connection$/, '')) ?? type;
  const shape = records.get(entry.name);
  const resource = rows.find(({ answer }) => answer === shape)?.resource;
  const reads = rows.filter((row) => shape && row.kind === 'read' && row.resource === resource);
  const singles = reads.filter(({ envelope }) => envelope === null);
  const lists = reads.filter(({ envelope }) => envelope !== null);
  const [first, second] = entry === type ? [singles, lists] : [lists, singles];
  const found = first.length > 0 ? first : second;
  // The POST is left out if a GET reads the whole list, because the POST is used only with a filter.
  const [whole, query] = ['GET', 'POST'].map((method) => found.filter((row) => row.method === method));
  const isFiltered = whole?.length === 0 || field.args.some(({ name }) => name === 'filter');
  return [...(whole ?? []), ...((isFiltered && query) || [])].map(({ id }) => id);
}
