import type {
  DocumentNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionSetNode,
} from 'graphql';

/** The size of an operation with its fragments expanded. */
export interface DocumentSize {
  /** The longest path from the operation to a field, in fields. */
  readonly depth: number;
  readonly fields: number;
  readonly rootFields: number;
  readonly aliases: number;
  readonly directives: number;
}

/** What is measured for an operation. */
export interface MeasuredSize extends DocumentSize {
  /** The characters of its longest alias, which an error's path repeats. */
  readonly aliasLength: number;
}

const nothing: MeasuredSize = {
  depth: 0,
  fields: 0,
  rootFields: 0,
  aliases: 0,
  directives: 0,
  aliasLength: 0,
};

/**
 * The size of each operation of a document. Each fragment is measured once, so that the time is linear in the
 * document's text, however fragments multiply. A fragment inside itself counts as nothing: validation refuses it.
 */
export function measureOperations(document: DocumentNode): MeasuredSize[] {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: OperationDefinitionNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition);
    else if (definition.kind === 'OperationDefinition') operations.push(definition);
  }
  const measured = new Map<string, MeasuredSize>();

  function ofFragment(name: string): MeasuredSize {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, nothing);
    const fragment = fragments.get(name);
    const size = fragment === undefined ? nothing : ofSelections(fragment.selectionSet);
    const own = { ...size, directives: size.directives + (fragment?.directives?.length ?? 0) };
    measured.set(name, own);
    return own;
  }

  function ofSelections({ selections }: SelectionSetNode): MeasuredSize {
    let { depth, fields, rootFields, aliases, directives, aliasLength } = nothing;
    for (const node of selections) {
      directives += node.directives?.length ?? 0;
      if (node.kind === 'Field') {
        const below = node.selectionSet === undefined ? nothing : ofSelections(node.selectionSet);
        depth = Math.max(depth, below.depth + 1);
        fields += below.fields + 1;
        rootFields += 1;
        aliases += below.aliases + (node.alias === undefined ? 0 : 1);
        directives += below.directives;
        aliasLength = Math.max(aliasLength, below.aliasLength, node.alias?.value.length ?? 0);
      } else {
        const inside =
          node.kind === 'InlineFragment' ? ofSelections(node.selectionSet) : ofFragment(node.name.value);
        depth = Math.max(depth, inside.depth);
        fields += inside.fields;
        rootFields += inside.rootFields;
        aliases += inside.aliases;
        directives += inside.directives;
        aliasLength = Math.max(aliasLength, inside.aliasLength);
      }
    }
    return { depth, fields, rootFields, aliases, directives, aliasLength };
  }

  return operations.map((operation) => {
    const size = ofSelections(operation.selectionSet);
    return { ...size, directives: size.directives + (operation.directives?.length ?? 0) };
  });
}
