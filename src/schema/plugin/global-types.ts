import type {
  FieldKind,
  FieldNullability,
  FieldRequiredness,
  InputFieldMap,
  InputType,
  ObjectFieldsShape,
  SchemaTypes,
  TypeParam,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import type { z } from 'zod';
import type { Operation } from '../../contract/operation.ts';
import type { BankRef, RefOptions } from './bank-ref.ts';
import type { Part, RecordInputOptions, Values } from './fields.ts';
import type { BankPlugin } from './index.ts';
import type { BankTypes, KeyPart, ListedTypes, SingleTypes } from './key.ts';
import type { IdsNeeded, LinkOptions, LinksOptions } from './link.ts';
import type { BankListOptions } from './list.ts';
import type { BankNodeOptions, GlobalIdOptions } from './schema-builder.ts';

/**
 * The methods that this plugin adds to Pothos' builders. The file of a type contains only what does not follow from its record
 * in the contract.
 */
declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      bank: BankPlugin<Types>;
    }

    export interface FieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      ParentShape = unknown,
      Type extends TypeParam<Types> = TypeParam<Types>,
      Nullable extends FieldNullability<Type> = FieldNullability<Type>,
      Args extends InputFieldMap = InputFieldMap,
      ResolveShape = unknown,
      ResolveReturnShape = unknown,
    > {
      /**
       * Whether the parent's ids are enough to resolve this field. If they are, the parent's record is not
       * read for it.
       */
      fromIds?: boolean;
      /** Makes the field's resolver for the type with this name. */
      resolverOn?: ((typename: string) => GraphQLFieldResolver<unknown, object>) | undefined;
      /** Whether the field makes a payment. */
      payment?: true;
    }

    export interface InputFieldOptions<
      Types extends SchemaTypes = SchemaTypes,
      Type extends InputType<Types> | [InputType<Types>] = InputType<Types> | [InputType<Types>],
      Req extends FieldRequiredness<Type> = FieldRequiredness<Type>,
    > {
      /** Whether the field takes a global id. Any other ID field takes an id of the bank, and refuses a global one. */
      isGlobalId?: true;
    }

    export interface SchemaBuilder<Types extends SchemaTypes> {
      /** A type of records that have an identity: how they are identified, read, and found in lists. */
      bankRef: {
        <const Key extends readonly KeyPart[], Shape extends z.ZodObject>(
          shape: Shape,
          options: RefOptions<SingleTypes<Key, Shape>> & { key: Key; list?: never },
        ): BankRef<Types, SingleTypes<Key, Shape>>;
        <
          const Key extends readonly KeyPart[],
          Shape extends z.ZodObject,
          Listing extends Operation,
          const ListKey extends readonly KeyPart[] | null = null,
        >(
          shape: Shape,
          options: RefOptions<ListedTypes<Key, Shape, Listing, ListKey>> & {
            key: Key;
            list: { key?: ListKey; operation: Listing };
          },
        ): BankRef<Types, ListedTypes<Key, Shape, Listing, ListKey>>;
      };

      /**
       * Implements the type of a record: the fields of the record, its ids, its bank, its version and its global id, and the
       * further fields in `fields`.
       */
      bankNode<T extends BankTypes>(
        ref: BankRef<Types, T>,
        options?: BankNodeOptions<ObjectFieldsShape<Types, T['Ids'] & { readonly record: T['Item'] }>>,
      ): void;

      /** The type of a part of records, such as an address. The first use makes it. */
      bankObject<Shape extends z.ZodObject>(shape: Shape): ObjectRef<Types, z.infer<Shape>>;

      /**
       * The type of a part of a record. The part knows the ids of its record, for fields that lead from it to other
       * records.
       */
      bankPart<Shape extends z.ZodObject>(shape: Shape): ObjectRef<Types, Part<z.infer<Shape>>>;

      /**
       * The input for a whole record, for changes of a record, or for a part of one of these. The first use
       * makes it.
       */
      bankInput(shape: z.ZodObject, options?: RecordInputOptions): InputObjectRef<Types, Values>;
    }

    export interface RootFieldBuilder<
      Types extends SchemaTypes,
      ParentShape,
      Kind extends FieldKind = FieldKind,
    > {
      /** A field that leads to a record, which is read if a selected field needs more than its ids. */
      link<T extends BankTypes, Args extends InputFieldMap>(
        ref: BankRef<Types, T>,
        options: LinkOptions<ParentShape, NoInfer<T>, Args> &
          IdsNeeded<NoInfer<T>['Path'], ParentShape, Args>,
      ): FieldRef<Types>;

      /**
       * A field that leads from a list of ids in the parent's record to one record for each id. Each record can fail
       * separately.
       */
      links<T extends BankTypes, Args extends InputFieldMap>(
        ref: BankRef<Types, T>,
        options: LinksOptions<ParentShape, Args>,
      ): FieldRef<Types>;

      /** A field that lists records as a connection. The parent's ids and the arguments determine the list. */
      bankList<T extends BankTypes, Args extends InputFieldMap>(
        ref: BankRef<Types, T>,
        options: BankListOptions<ParentShape, NoInfer<T>, Args> &
          IdsNeeded<NoInfer<T>['ListIds'], ParentShape, Args>,
      ): FieldRef<Types>;

      /** The global id of an object that is no record. Unless `node` can read the type, it is only for the caches of clients. */
      globalId(options: GlobalIdOptions<ParentShape>): FieldRef<Types>;
    }

    export interface InputFieldBuilder<Types extends SchemaTypes, Kind extends 'Arg' | 'InputObject'> {
      /** The input fields of a record. */
      bankFields(shape: z.ZodObject): InputFieldMap;
    }
  }
}
