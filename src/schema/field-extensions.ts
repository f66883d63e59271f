import { type GraphQLField, TypeNameMetaFieldDef } from 'graphql';
import type { Operation, OwnIds } from '../contract/operation.ts';
import type { Field } from '../contract/record.ts';
import type { Selection } from '../executor/selection.ts';
import type { ReadContext } from './context.ts';

/** What a field declares in its GraphQL extensions, for links (node.ts) and for plans (call-estimate.ts). */
export interface FieldExtensions {
  /** The parent's ids are enough to resolve this field: the parent's record is not needed. */
  readonly answeredByIds?: true;
  /** The only part of the parent's record that the field needs. */
  readonly shows?: Field;
  /** Starts the reads of the field early, if the parent's ids are all that they need; in plans too, without `estimate`. */
  readonly prefetch?: (parent: never, args: never, context: never, info: Selection) => unknown;
  /**
   * Tells a plan which calls the field makes, as far as its arguments and what is known about its parent determine
   * them, and returns the objects that it leads to. A field without it counts as one that makes no calls and leads
   * nowhere.
   * Errors: those of the field if its arguments are invalid; it then makes no calls.
   */
  readonly estimate?: (
    parent: never,
    args: never,
    context: EstimateContext,
  ) => KnownObject | readonly KnownObject[] | null;
  /**
   * The calls of a field that depends on a record: once for an object, and once for each entry of a list. Used by
   * explain (options/explain/plan.ts) for fields that `estimate` does not follow; `unknownId` creates a placeholder for one of
   * the bank's ids.
   */
  readonly estimateUnknown?: (
    parent: never,
    args: never,
    context: EstimateContext,
    unknownId: () => string,
  ) => KnownObject | null;
  /**
   * The number of global ids in the field's arguments, whose sum in an operation is limited
   * (engine/limits.ts).
   */
  readonly idCount?: (args: never) => number;
  /** Whether the field makes a payment. */
  readonly payment?: true;
  /** The field is null only if there is an error for it. */
  readonly nullMeansError?: true;
}

/** Records the calls of a plan: its loaders record what is requested and never answer. */
export interface EstimateContext extends ReadContext {
  /** Records a write or a payment; later reads are made again. */
  send<T extends Operation>(operation: T, call: { readonly ids: OwnIds<T>; readonly body: unknown }): void;
  /** From here on everything is read again, whatever was read before. */
  invalidate(): void;
}

/** An object that a field leads to, as far as it is known before anything is read. */
export interface KnownObject {
  /** The name of its object type; by default that of the field. */
  readonly type?: string;
  readonly parent: object;
  /** Requests its record, if that takes a call. */
  readonly read?: () => unknown;
  /** Its record is known without a call: a payment's, for example. */
  readonly hasRecord?: true;
}

const unknownIdPrefix = 'unknown-';

/** Creates a placeholder for an id that only a record tells. */
export const placeholderId = (number: number): string => `${unknownIdPrefix}${number}`;

/** Whether an id, or any text in which ids stand, holds a placeholder. */
export const hasPlaceholderId = (text: string): boolean => text.includes(unknownIdPrefix);

/** Stands in for a record that is not read: each of its members is a placeholder id. */
export const unknownRecord = <Item>(unknownId: () => string): Item =>
  new Proxy({}, { get: (_record, name) => (typeof name === 'string' ? unknownId() : undefined) }) as Item;

/** Creates the extensions of a field. */
export const fieldExtensions = <T extends FieldExtensions>(bankql: T): { readonly bankql: T } => ({ bankql });

/** The extensions of a field whose object is known as soon as its parent is, without the parent's record. */
export const knownObject = <Parent>(objectOf: (parent: Parent) => object) =>
  fieldExtensions({ estimate: (parent: Parent): KnownObject => ({ parent: objectOf(parent) }) });

export function fieldExtensionsOf(field: GraphQLField<unknown, unknown>): FieldExtensions {
  if (field.name === TypeNameMetaFieldDef.name) return ofTypename;
  const said = field.extensions.bankql;
  return typeof said === 'object' && said !== null ? said : nothing;
}

/** Whether a plan can count calls of a field before anything is read. */
export function isPlanned(field: GraphQLField<unknown, unknown>): boolean {
  const { estimate, prefetch } = fieldExtensionsOf(field);
  return estimate !== undefined || prefetch !== undefined;
}

/** Whether a field makes a payment. */
export const isPayment = (field: GraphQLField<unknown, unknown>): boolean =>
  fieldExtensionsOf(field).payment === true;

const ofTypename: FieldExtensions = { answeredByIds: true };
const nothing: FieldExtensions = {};

/** Starts a read early. Its loader keeps the answer; an error is reported when the field itself is resolved. */
export function startPrefetch(ask: () => unknown): void {
  const ignore = () => {};
  try {
    Promise.resolve(ask()).catch(ignore);
  } catch {
    ignore();
  }
}

/** Returns null if it throws: resolving the field itself reports the same error. */
export function nullOnError<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
