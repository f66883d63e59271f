import SchemaBuilder, { type FieldKind, type FieldMap, RootFieldBuilder } from '@pothos/core';
import type { z } from 'zod';
import { metaOf, recordFields } from '../../contract/record.ts';
import type { ObjectFields, Types } from '../builder.ts';
import { type AnyBankRef, BankRef, type RefOptions } from './bank-ref.ts';
import { fieldsOf, ownIdField, type Values } from './fields.ts';
import { encodeGlobalId, globalIdDescription, globalIdTypes } from './global-id.ts';
import type { BankTypes } from './key.ts';
import { fieldOptions, follow } from './link.ts';

/** The types of records: `builder.bankRef` and `builder.bankNode`. */

export interface BankNodeOptions<Fields> {
  readonly fields?: Fields;
  /** A clause for descriptions that says what the parent record is to the record; by default `to which it belongs`. */
  readonly through?: string;
  /** The names of the fields to leave out: fields of the record, its ids, or `version`. */
  readonly omit?: readonly string[];
}

const builderProto = SchemaBuilder.prototype as PothosSchemaTypes.SchemaBuilder<Types>;

builderProto.bankRef = function bankRef(
  this: PothosSchemaTypes.SchemaBuilder<Types>,
  shape: z.ZodObject,
  options: RefOptions<BankTypes>,
) {
  const ref: AnyBankRef = new BankRef(this, shape, options);
  globalIdTypes.set(ref.name, {
    bankIdField: options.bankIdField === null ? null : ref.own,
    idsOf: (key) => ref.idsOf(key),
    load: (ids, context, info, index) => follow(ref, ids as Values, context, info, index),
  });
  return ref;
} as typeof builderProto.bankRef;

builderProto.bankNode = function bankNode(
  ref: AnyBankRef,
  { fields, through = 'to which it belongs', omit = [] } = {},
) {
  // An id from the path may replace a member of the record. If any other field replaced a member, nothing would show the
  // member's value.
  const others = ['id', 'bank', ref.parent?.noun, 'version'].filter((name) => !omit.includes(name ?? ''));
  const hidden = recordFields(ref.shape).find(({ name }) => others.includes(name));
  if (hidden !== undefined)
    throw new Error(
      `${ref.name}.${hidden.name} is not a member of a record: give "${hidden.rest}" another name`,
    );
  ref.implement({
    description: metaOf(ref.shape).description ?? '',
    interfaces: [this.nodeInterfaceRef()],
    fields: (t) => {
      const own: FieldMap = {
        ...fieldsOf(t, ref.shape, 'record', omit),
        id: t.id({
          nullable: false,
          description: globalIdDescription,
          fromIds: true,
          resolve: (linked: object) => ref.globalIdOf(linked),
        }),
        ...ownIdField(t, ref.shape),
        ...bankFields(t, ref),
        ...parentFields(t, ref, through),
        version: t.string({
          description: 'Opaque, for `ifVersion`: changes with every field of the record.',
          resolve: ({ record }: { record: object }) => ref.version(record),
        }),
      };
      for (const name of omit) delete own[name];
      return { ...own, ...fields?.(t) };
    },
  });
};

type Ids = Readonly<Record<string, string>>;
/** A type whose ids are not known to TypeScript. */
type PlainRef = Pick<AnyBankRef, 'noun' | 'names'> & {
  readonly root: BankRef<Types, BankTypes>;
  readonly parent: BankRef<Types, BankTypes> | null;
};

/** The fields of a record for its bank; their values are in the path of the record's request. */
function bankFields(t: ObjectFields<Ids>, { root, noun, parent }: PlainRef): FieldMap {
  if (parent === null) return {};
  return {
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: 'The code of the bank through which it is read.',
    }),
    bank: t.link(root, {
      description: `The bank through which the ${noun} is read.`,
      nullable: false,
    }),
  };
}

/** The fields that lead from a record to its parent, if the parent is not the bank: the parent's ids, and a link. */
function parentFields(t: ObjectFields<Ids>, { parent, root }: PlainRef, through: string): FieldMap {
  if (parent === null || parent === root) return {};
  const { noun, names } = parent;
  const own: FieldMap = {
    [noun]: t.link(parent, { description: `The ${noun} ${through}.` }),
  };
  for (const name of names.filter((each) => !root.names.includes(each)))
    own[name] = t.exposeID(name, {
      nullable: false,
      // The value comes from the path: a member of the record for the same id, such as `this_account`, may
      // have another value.
      extensions: { rest: { member: undefined } },
      description:
        name === 'viewId'
          ? 'The view through which it is seen, from the path.'
          : `The ${noun} ${through}, from the path.`,
    });
  return own;
}

export interface GlobalIdOptions<Parent> {
  readonly description: string;
  /** The values that identify the object among those of its type. An error counts as null. */
  readonly key: (parent: Parent) => readonly (string | Error | null)[];
}

const fieldsProto = RootFieldBuilder.prototype as PothosSchemaTypes.RootFieldBuilder<
  Types,
  unknown,
  FieldKind
>;

fieldsProto.globalId = function globalId(this: typeof fieldsProto, { description, key }) {
  const resolverOn = (typename: string) => {
    if (!globalIdTypes.has(typename)) globalIdTypes.set(typename, null);
    return (parent: never) => {
      const parts = key(parent).map((part) => (part instanceof Error ? null : part));
      return encodeGlobalId(typename, JSON.stringify(parts));
    };
  };
  return this.field(fieldOptions({ type: 'ID', nullable: false, description, resolverOn }));
};
