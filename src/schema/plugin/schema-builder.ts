import SchemaBuilder, { type FieldMap } from '@pothos/core';
import type { z } from 'zod';
import { metaOf } from '../../contract/record.ts';
import { propertyResolver } from '../../executor/known-resolvers.ts';
import type { ObjectFields, Types } from '../builder.ts';
import { fieldsOf, ownIdField, type Values } from './fields.ts';
import { globalIdDescription } from './global-id.ts';
import { type AnyBankRef, BankRef, type BankTypes, type RefOptions } from './node.ts';

/** The types of records: `builder.bankRef` and `builder.bankNode`. */

export interface BankNodeOptions<Fields> {
  readonly fields?: Fields;
  /** The fields of the record, its ids or its version, by their names, that the type does not have. */
  readonly omit?: readonly string[];
}

const builderProto = SchemaBuilder.prototype as PothosSchemaTypes.SchemaBuilder<Types>;

builderProto.bankRef = function bankRef(
  this: PothosSchemaTypes.SchemaBuilder<Types>,
  shape: z.ZodObject,
  options: RefOptions<BankTypes>,
) {
  return new BankRef(this, shape, options);
} as typeof builderProto.bankRef;

builderProto.bankNode = function bankNode(ref, { fields, omit = [] } = {}) {
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
          resolve: (linked) => ref.globalIdOf(linked),
        }),
        ...ownIdField(t, ref.shape),
        ...bankFields(t, ref),
        version: t.string({
          description: 'Opaque; changes with every field of the record. For `ifVersion`.',
          resolve: ({ record }) => ref.version(record),
        }),
      };
      for (const name of omit) delete own[name];
      return { ...own, ...fields?.(t) };
    },
  });
};

/** The fields of a record for its bank; their values are in the path of the record's request. */
function bankFields<P>(t: ObjectFields<P>, ref: AnyBankRef): FieldMap {
  const { root, noun } = ref;
  if (root === ref) return {};
  return {
    bankId: t.id({
      nullable: false,
      fromIds: true,
      resolve: propertyResolver('bankId') as never,
      description: 'The code of the bank through which it is read.',
    }),
    bank: t.link(root, {
      description: `The bank through which the ${noun} is read.`,
      nullable: false,
      ids: (node) => ({ bankId: (node as Values).bankId }),
    }),
  };
}
