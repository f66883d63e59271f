import { defaultFieldResolver, type GraphQLField, type GraphQLSchema } from 'graphql';
import { isPromise } from '../../executor/promises.ts';
import type { Selection } from '../../executor/selection.ts';
import type { Context } from '../../schema/context.ts';
import { fieldExtensionsOf } from '../../schema/field-extensions.ts';
import { nodeTypes } from '../../schema/node.ts';
import { withFields } from '../map-fields.ts';

type Field = GraphQLField<unknown, unknown>;

/**
 * The schema for @defer. A link then does not read a record that only deferred fields need, so that the first result does
 * not wait for it; those fields read it themselves, in the same call.
 */
export const deferrableSchema = (schema: GraphQLSchema): GraphQLSchema =>
  withFields(schema, (field, { name }) => deferrableField(field, name));

function deferrableField(field: Field, typeName: string): Field {
  const { resolve = defaultFieldResolver } = field;
  const nodeType = fieldExtensionsOf(field).answeredByIds === true ? undefined : nodeTypes.get(typeName);
  const resolveDeferrable: typeof resolve = (source, given, context, info) => {
    const selection = { ...info, omitsDeferred: true } satisfies Selection;
    const complete = nodeType?.withRecord(source as object, context as Context) ?? source;
    return isPromise(complete)
      ? complete.then((read) => resolve(read, given, context, selection))
      : resolve(complete, given, context, selection);
  };
  return Object.create(field, { resolve: { value: resolveDeferrable } });
}
