import type { OperationDefinitionNode, SelectionSetNode } from 'graphql';
import { argumentsOf, collectFields, type Selection } from '../executor/selection.ts';
import { fieldExtensionsOf, nullOnError } from '../schema/field-extensions.ts';
import { maxNodeIds } from '../schema/node.ts';
import { RequestError } from './request-error.ts';

interface NodeIdCheckOptions extends Pick<Selection, 'schema' | 'fragments'> {
  readonly operation: OperationDefinitionNode;
}

/**
 * Refuses, before it runs, an operation whose `nodes` fields take more ids together than allowed. `nodes` is a
 * field of the root; ids in literals and in variables both count, each as often as it is given. A single such field
 * checks its own number. An operation without `nodes` is not checked.
 * Errors: the answered function throws LIMIT_EXCEEDED.
 */
export function createNodeIdCheck({
  schema,
  fragments,
  operation,
}: NodeIdCheckOptions): (variables: Selection['variableValues']) => void {
  const type = schema.getRootType(operation.operation);
  if (!type) return () => {};
  const names = rootFieldNames(operation, fragments);
  const fields = type.getFields();
  const takeIds = [...names].some(
    (name) => fields[name] && fieldExtensionsOf(fields[name]).idCount !== undefined,
  );
  if (!takeIds) return () => {};
  return (variableValues) => {
    const selection = { schema, fragments, variableValues, fieldNodes: [operation] };
    let ids = 0;
    let lists = 0;
    for (const selected of collectFields(selection, type)) {
      const { idCount } = fieldExtensionsOf(selected.field);
      if (idCount === undefined) continue;
      lists++;
      // If the arguments are invalid, the field itself reports it.
      ids += nullOnError(() => idCount(argumentsOf(selected, selection) as never)) ?? 0;
    }
    if (lists > 1 && ids > maxNodeIds)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation asks for ${ids} nodes by their ids, and may ask for ${maxNodeIds}; ask for less at a time.`,
      );
  };
}

/** The names of the fields at an operation's root, regardless of @skip and @include. */
function rootFieldNames(operation: OperationDefinitionNode, fragments: Selection['fragments']): Set<string> {
  const names = new Set<string>();
  const seen = new Set<string>();
  const collect = ({ selections }: SelectionSetNode) => {
    for (const node of selections) {
      if (node.kind === 'Field') names.add(node.name.value);
      else if (node.kind === 'InlineFragment') collect(node.selectionSet);
      else if (!seen.has(node.name.value)) {
        seen.add(node.name.value);
        const fragment = fragments[node.name.value];
        if (fragment !== undefined) collect(fragment.selectionSet);
      }
    }
  };
  collect(operation.selectionSet);
  return names;
}
