import { type GraphQLField, TypeNameMetaFieldDef } from 'graphql';

/** The GraphQL extensions of a field that its options set (global-types.ts). */
interface FieldExtensions {
  readonly fromIds?: true;
  readonly payment?: true;
}

export function fieldExtensionsOf(field: GraphQLField<unknown, unknown>): FieldExtensions {
  if (field.name === TypeNameMetaFieldDef.name) return ofTypename;
  const said = field.extensions.bankql;
  return typeof said === 'object' && said !== null ? said : nothing;
}

const ofTypename: FieldExtensions = { fromIds: true };
const nothing: FieldExtensions = {};

/** Whether a field makes a payment. */
export const isPayment = (field: GraphQLField<unknown, unknown>): boolean =>
  fieldExtensionsOf(field).payment === true;

/**
 * Calls a function, and returns null if it throws. The error is not lost: the field reports it when it is
 * resolved.
 */
export function nullOnError<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
