import { type GraphQLField, TypeNameMetaFieldDef } from 'graphql';
import type { Field } from '../../contract/record.ts';

/** The declarations of a field in its GraphQL extensions, for links (link.ts). */
interface FieldExtensions {
  /** The parent's ids are enough to resolve this field: the parent's record is not needed. */
  readonly answeredByIds?: true;
  /** The only part of the parent's record that the field needs. */
  readonly shows?: Field;
  /** Whether the field makes a payment. */
  readonly payment?: true;
}

/** Creates the extensions of a field. */
export const fieldExtensions = <T extends FieldExtensions>(bankql: T): { readonly bankql: T } => ({ bankql });

export function fieldExtensionsOf(field: GraphQLField<unknown, unknown>): FieldExtensions {
  if (field.name === TypeNameMetaFieldDef.name) return ofTypename;
  const said = field.extensions.bankql;
  return typeof said === 'object' && said !== null ? said : nothing;
}

/** Whether a field makes a payment. */
export const isPayment = (field: GraphQLField<unknown, unknown>): boolean =>
  fieldExtensionsOf(field).payment === true;

/** The extensions of a field whose value its parent's ids determine. */
export const answeredByIds = fieldExtensions({ answeredByIds: true });

const ofTypename: FieldExtensions = answeredByIds.bankql;
const nothing: FieldExtensions = {};

/** Returns null if it throws: resolving the field itself reports the same error. */
export function nullOnError<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
