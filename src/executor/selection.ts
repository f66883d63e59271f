import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLDeferDirective,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getArgumentValues,
  getNamedType,
  isAbstractType,
  isObjectType,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  typeFromAST,
  type ValueNode,
} from 'graphql';

const sourceResolvers = new WeakSet<object>();

/** Marks a resolver that only reads its source: no `info` is created for it. */
export function ofSource<Source, Value>(resolve: (source: Source) => Value): (source: Source) => Value {
  sourceResolvers.add(resolve);
  return resolve;
}

export const isOfSource = (resolve: object | undefined): boolean =>
  resolve !== undefined && sourceResolvers.has(resolve);

/** The part of a resolver's `info` that look-ahead needs; for the root, the operation replaces the field nodes. */
export interface Selection
  extends Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'variableValues'>,
    Partial<PreparedSelection> {
  readonly fieldNodes: readonly Pick<FieldNode, 'selectionSet'>[];
  /** Whether fragments with @defer do not count: their fields are executed later, on their own. */
  readonly omitsDeferred?: boolean;
}

/** A selection for which everything that stays the same between executions is computed once; not by graphql's own executor. */
export interface PreparedSelection {
  /** The same object in each execution, as a cache key for values derived from the selection. */
  readonly details: object;
  fieldsOf(type: GraphQLObjectType): readonly SelectedField[];
  /** The arguments of one of these fields. Errors: GraphQLError. */
  argumentsOf(field: SelectedField): Readonly<Record<string, unknown>>;
  /** The selection below one of these fields. */
  subselection(field: SelectedField): Selection;
}

/** The selection with its deferred fragments. */
export const withDeferred = (selection: Selection): Selection =>
  selection.omitsDeferred === true ? { ...selection, omitsDeferred: false } : selection;

/** A document's fragments by their names. */
export function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const node of document.definitions)
    if (node.kind === 'FragmentDefinition') fragments[node.name.value] = node;
  return fragments;
}

/** A selected field, with all nodes that select it under the same response name. */
export interface SelectedField {
  /** Its response name. */
  readonly name: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly FieldNode[];
}

/**
 * The fields that an operation selects on an object, fragments included, without those that @skip and @include
 * leave out; in the order of the answer.
 */
export function selectedFields(selection: Selection, type: GraphQLObjectType): readonly SelectedField[] {
  return selection.fieldsOf?.(type) ?? collectFields(selection, type);
}

/**
 * Whether a field of an object type is selected, or a field below it: `selects(info, 'Payload', 'payment', 'state')`.
 * Deferred fields count too.
 */
export function selects(
  selection: Selection,
  typeName: string,
  fieldName: string,
  ...below: readonly string[]
): boolean {
  const type = selection.schema.getType(typeName);
  if (!isObjectType(type)) throw new Error(`${typeName} is no object type of the schema`);
  const complete = withDeferred(selection);
  const [next, ...rest] = below;
  return selectedFields(complete, type).some(
    (selected) =>
      selected.field.name === fieldName &&
      (next === undefined ||
        selects(subselectionOf(selected, complete), getNamedType(selected.field.type).name, next, ...rest)),
  );
}

/**
 * The selected fields of a type, computed from the syntax tree. (selectedFields uses the prepared selection if there is one.)
 * Errors: with `isStrict` GraphQLError for a @skip or @include whose condition is null, as the executor's.
 */
export function collectFields(
  selection: Selection,
  type: GraphQLObjectType,
  isStrict = false,
): SelectedField[] {
  const { schema, fragments, fieldNodes, omitsDeferred = false } = selection;
  const nodes = new Map<string, FieldNode[]>();
  eachSelection(fieldNodes, fragments, (node) => {
    if (!isIncluded(node, selection, isStrict) || (omitsDeferred && isDeferred(node, selection)))
      return false;
    if (node.kind === 'Field') {
      const name = node.alias?.value ?? node.name.value;
      const same = nodes.get(name);
      if (same === undefined) nodes.set(name, [node]);
      else same.push(node);
      return false;
    }
    const fragment = node.kind === 'InlineFragment' ? node : fragments[node.name.value];
    if (fragment?.typeCondition === undefined) return true;
    const named = typeFromAST(schema, fragment.typeCondition);
    return named === type || (isAbstractType(named) && schema.isSubType(named, type));
  });

  const selected: SelectedField[] = [];
  for (const [name, same] of nodes) {
    const field = schema.getField(type, same[0]?.name.value ?? '');
    if (field !== undefined) selected.push({ name, field, nodes: same });
  }
  return selected;
}

/**
 * Visits the fields that are selected directly on an object. `visit` returns whether to enter a fragment; a named fragment is
 * entered once.
 */
export function eachSelection(
  nodes: readonly Pick<FieldNode, 'selectionSet'>[],
  fragments: Selection['fragments'],
  visit: (node: SelectionNode) => boolean,
): void {
  const entered = new Set<string>();
  const enter = (selectionSet: SelectionSetNode | undefined) => {
    for (const node of selectionSet?.selections ?? []) {
      if (!visit(node) || node.kind === 'Field') continue;
      if (node.kind === 'InlineFragment') {
        enter(node.selectionSet);
      } else if (!entered.has(node.name.value)) {
        entered.add(node.name.value);
        enter(fragments[node.name.value]?.selectionSet);
      }
    }
  };
  for (const { selectionSet } of nodes) enter(selectionSet);
}

/** The fields at an operation's root, whatever @skip and @include say. */
export function rootFieldsOf(
  operation: OperationDefinitionNode,
  fragments: Selection['fragments'],
): readonly FieldNode[] {
  const fields: FieldNode[] = [];
  eachSelection([operation], fragments, (node) => {
    if (node.kind === 'Field') fields.push(node);
    return true;
  });
  return fields;
}

/** The arguments of a selected field as its resolver gets them. Errors: GraphQLError, as from the executor. */
export function argumentsOf(field: SelectedField, selection: Selection): Readonly<Record<string, unknown>> {
  if (selection.argumentsOf !== undefined) return selection.argumentsOf(field);
  const [node] = field.nodes;
  return node === undefined ? {} : getArgumentValues(field.field, node, selection.variableValues);
}

/** The selection below a selected field. */
export function subselectionOf(field: SelectedField, selection: Selection): Selection {
  if (selection.subselection !== undefined) return selection.subselection(field);
  const { schema, fragments, variableValues, omitsDeferred = false } = selection;
  return { schema, fragments, variableValues, omitsDeferred, fieldNodes: field.nodes };
}

function isIncluded(node: SelectionNode, { variableValues }: Selection, isStrict: boolean): boolean {
  if (node.directives === undefined || node.directives.length === 0) return true;
  for (const definition of [GraphQLSkipDirective, GraphQLIncludeDirective]) {
    const directive = node.directives.find(({ name }) => name.value === definition.name);
    if (directive === undefined) continue;
    const condition = conditionOf(directive.arguments?.[0]?.value, variableValues);
    // Throws the error for a null.
    if (isStrict && typeof condition !== 'boolean') getArgumentValues(definition, directive, variableValues);
    if (condition === (definition === GraphQLSkipDirective)) return false;
  }
  return true;
}

const conditionOf = (value: ValueNode | undefined, { coerced }: Selection['variableValues']): unknown =>
  value?.kind === 'Variable' ? coerced[value.name.value] : value?.kind === 'BooleanValue' && value.value;

/** Whether a fragment's @defer is in force. */
export function isDeferred({ kind, directives }: SelectionNode, { variableValues }: Selection): boolean {
  if (kind === 'Field') return false;
  const defer = directives?.find(({ name }) => name.value === GraphQLDeferDirective.name);
  if (defer === undefined) return false;
  const condition = defer.arguments?.find(({ name }) => name.value === 'if')?.value;
  return condition === undefined || conditionOf(condition, variableValues) !== false;
}
