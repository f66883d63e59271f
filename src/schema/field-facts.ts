import { type GraphQLField, TypeNameMetaFieldDef } from 'graphql';
import type { Operation, PathIds } from '../contract/operation.ts';
import type { Selection } from '../executor/selection.ts';
import type { Asking, Context } from './context.ts';

/** What a field says of itself in its GraphQL extensions, for links (link.ts) and for plans (plan.ts) to look at. */
export interface FieldFacts {
  /** The parent's ids answer this field: it needs no record of the parent. */
  readonly fromIds?: true;
  /** Asks for what the field will read, if its parent's ids are all that it takes. */
  readonly ahead?: (parent: never, args: never, context: Context, info: Selection) => unknown;
  /**
   * Asks a plan for what the field will call, as far as its arguments and what is known of its parent determine it, and
   * says where it leads. A field without it is planned as one that calls nothing and leads nowhere.
   * Errors: those of the field, where its arguments are wrong; it then calls nothing.
   */
  readonly plan?: (parent: never, args: never, planning: Planning) => Lead | readonly Lead[] | null;
  /** How many global ids the field's arguments give it; an operation may give so many in all (engine/node-id-limit.ts). */
  readonly idCount?: (args: never) => number;
  /** The field makes a payment. */
  readonly payment?: true;
}

/** Where a plan notes calls: its loaders note what they are asked for, and never answer. */
export interface Planning extends Asking {
  /** Notes a write or a payment; what is read behind it is read anew. */
  send<T extends Operation>(operation: T, call: { readonly ids: PathIds<T>; readonly body: unknown }): void;
}

/** An object that a field leads to, as far as it is known before anything is read. */
export interface Lead {
  /** The name of its object type; the field's own where it is left out. */
  readonly type?: string;
  readonly parent: object;
  /** Asks for its record, where that takes a call. */
  readonly read?: () => unknown;
}

/** The extensions of a field with these facts. */
export const facts = <T extends FieldFacts>(bankql: T): { readonly bankql: T } => ({ bankql });

/** The extensions of a field whose object is known as soon as its parent is: no record of the parent is needed. */
export const known = <Parent>(objectOf: (parent: Parent) => object) =>
  facts({ plan: (parent: Parent): Lead => ({ parent: objectOf(parent) }) });

export function factsOf(field: GraphQLField<unknown, unknown>): FieldFacts {
  if (field.name === TypeNameMetaFieldDef.name) return ofTypename;
  const said = field.extensions.bankql;
  return isFacts(said) ? said : {};
}

const ofTypename: FieldFacts = { fromIds: true };

const isFacts = (said: unknown): said is FieldFacts => typeof said === 'object' && said !== null;

/** Asks early; the answer waits in its loader, and a failure comes back where the field itself is resolved. */
export function askAhead(ask: () => unknown): void {
  const ignore = () => {};
  try {
    Promise.resolve(ask()).catch(ignore);
  } catch {
    ignore();
  }
}

/** Null where it throws: the same error comes back where the field itself is resolved. */
export function attempt<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
