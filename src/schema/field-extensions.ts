import { type GraphQLField, TypeNameMetaFieldDef } from 'graphql';
import type { Operation, PathIds } from '../contract/operation.ts';
import type { Selection } from '../executor/selection.ts';
import type { Context, ReadContext } from './context.ts';

/** What a field says of itself in its GraphQL extensions, for links (node-type.ts) and for plans (call-estimate.ts) to look at. */
export interface FieldExtensions {
  /** The parent's ids answer this field: it needs no record of the parent. */
  readonly answeredByIds?: true;
  /** Asks for what the field will read, if its parent's ids are all that it takes. */
  readonly prefetch?: (parent: never, args: never, context: Context, info: Selection) => unknown;
  /**
   * Asks a plan for what the field will call, as far as its arguments and what is known of its parent determine it, and
   * says where it leads. A field without it is planned as one that calls nothing and leads nowhere.
   * Errors: those of the field, where its arguments are wrong; it then calls nothing.
   */
  readonly estimate?: (
    parent: never,
    args: never,
    context: EstimateContext,
  ) => KnownObject | readonly KnownObject[] | null;
  /**
   * Where the field may lead to what only a record tells: what it calls then, once for an object and once for each entry of a
   * list. For explain (call-plan.ts), of fields that `estimate` does not follow; \`unknownId\` makes an id that stands for one of the
   * bank's.
   */
  readonly estimateUnknown?: (
    parent: never,
    args: never,
    context: EstimateContext,
    unknownId: () => string,
  ) => KnownObject | null;
  /** How many global ids the field's arguments give it; an operation may give so many in all (engine/node-id-limit.ts). */
  readonly idCount?: (args: never) => number;
  /** The field makes a payment. */
  readonly payment?: true;
}

/** Where a plan notes calls: its loaders note what they are asked for, and never answer. */
export interface EstimateContext extends ReadContext {
  /** Notes a write or a payment; what is read behind it is read anew. */
  send<T extends Operation>(operation: T, call: { readonly ids: PathIds<T>; readonly body: unknown }): void;
  /** What is read from here on is read anew, whatever was read before. */
  invalidate(): void;
}

/** An object that a field leads to, as far as it is known before anything is read. */
export interface KnownObject {
  /** The name of its object type; the field's own where it is left out. */
  readonly type?: string;
  readonly parent: object;
  /** Asks for its record, where that takes a call. */
  readonly read?: () => unknown;
}

/** A record that is not read: any of its members is an id that stands for the bank's. */
export const unknownRecord = <Item>(unknownId: () => string): Item =>
  new Proxy({}, { get: (_record, name) => (typeof name === 'string' ? unknownId() : undefined) }) as Item;

/** The extensions of a field with these facts. */
export const fieldExtensions = <T extends FieldExtensions>(bankql: T): { readonly bankql: T } => ({ bankql });

/** The extensions of a field whose object is known as soon as its parent is: no record of the parent is needed. */
export const knownObject = <Parent>(objectOf: (parent: Parent) => object) =>
  fieldExtensions({ estimate: (parent: Parent): KnownObject => ({ parent: objectOf(parent) }) });

export function fieldExtensionsOf(field: GraphQLField<unknown, unknown>): FieldExtensions {
  if (field.name === TypeNameMetaFieldDef.name) return ofTypename;
  const said = field.extensions.bankql;
  return isFieldExtensions(said) ? said : {};
}

const ofTypename: FieldExtensions = { answeredByIds: true };

const isFieldExtensions = (said: unknown): said is FieldExtensions =>
  typeof said === 'object' && said !== null;

/** Asks early; the answer waits in its loader, and a failure comes back where the field itself is resolved. */
export function startPrefetch(ask: () => unknown): void {
  const ignore = () => {};
  try {
    Promise.resolve(ask()).catch(ignore);
  } catch {
    ignore();
  }
}

/** Null where it throws: the same error comes back where the field itself is resolved. */
export function nullOnError<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
