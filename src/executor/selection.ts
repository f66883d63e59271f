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
  getDirectiveValues,
  getNamedType,
  isAbstractType,
  isObjectType,
  type SelectionNode,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql';
import { getOrMake } from '../get-or-make.ts';

/** The part of a resolver's `info` that look-ahead needs. The root has the operation in place of field nodes. */
export interface Selection
  extends Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'variableValues'>,
    Partial<PreparedSelection> {
  readonly fieldNodes: readonly Pick<FieldNode, 'selectionSet'>[];
}

/** A selection whose constant parts are computed once for all executions. Only bankql's executor provides one. */
export interface PreparedSelection {
  /** An object that is the same in each execution: a cache key for values that are derived from the selection. */
  readonly details: object;
  fieldsOf(type: GraphQLObjectType): readonly SelectedField[];
  /** The fields that are delivered later (@defer). */
  deferredFieldsOf(type: GraphQLObjectType): readonly SelectedField[];
  /** The arguments of one of these fields. Errors: GraphQLError. */
  argumentsOf(field: SelectedField): Readonly<Record<string, unknown>>;
  /** The selection below one of these fields. */
  subselection(field: SelectedField): Selection;
  /** The selection on an entry of the list. */
  selectionOfEntry(index: number): Selection;
}

/** A document's fragments by their names. */
export function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const node of document.definitions)
    if (node.kind === 'FragmentDefinition') fragments[node.name.value] = node;
  return fragments;
}

/** A selected field, with all nodes that select it under the same response name. */
export interface SelectedField {
  /** The field's response name. */
  readonly name: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly FieldNode[];
}

/** A fragment with @defer. */
export interface DeferredNode extends Pick<FieldNode, 'selectionSet'> {
  readonly label: string | undefined;
}

/**
 * The fields that an operation selects on an object, including those of fragments, in the order of the
 * answer. Fields that @skip and @include exclude, and fields that are delivered later, are left out.
 */
export function selectedFields(selection: Selection, type: GraphQLObjectType): readonly SelectedField[] {
  return selection.fieldsOf?.(type) ?? collectFields(selection, type);
}

/** The fields that are selected on an object, and delivered later. */
export const deferredFields = (selection: Selection, type: GraphQLObjectType): readonly SelectedField[] =>
  selection.deferredFieldsOf?.(type) ?? [];

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
  const [next, ...rest] = below;
  return [...selectedFields(selection, type), ...deferredFields(selection, type)].some(
    (selected) =>
      selected.field.name === fieldName &&
      (next === undefined ||
        selects(subselectionOf(selected, selection), getNamedType(selected.field.type).name, next, ...rest)),
  );
}

/**
 * The selected fields of a type, computed from the syntax tree. (selectedFields uses the prepared selection if there is one.)
 * With `deferred`, fragments with @defer are added to it, and their fields are not collected.
 * Errors: GraphQLError if the condition of a @skip, @include or @defer is null.
 */
export function collectFields(
  selection: Selection,
  type: GraphQLObjectType,
  deferred: DeferredNode[] | null = null,
): SelectedField[] {
  const { schema, fragments, fieldNodes } = selection;
  const nodes = new Map<string, FieldNode[]>();
  eachSelection(fieldNodes, fragments, (node) => {
    if (!isIncluded(node, selection)) return false;
    if (node.kind === 'Field') {
      getOrMake(nodes, node.alias?.value ?? node.name.value, () => []).push(node);
      return false;
    }
    const fragment = node.kind === 'InlineFragment' ? node : fragments[node.name.value];
    const named = fragment?.typeCondition && typeFromAST(schema, fragment.typeCondition);
    const applies =
      named === undefined || named === type || (isAbstractType(named) && schema.isSubType(named, type));
    const defer =
      applies && deferred !== null
        ? getDirectiveValues(GraphQLDeferDirective, node, selection.variableValues)
        : undefined;
    if (defer?.if !== true || fragment === undefined) return applies;
    deferred?.push({ selectionSet: fragment.selectionSet, label: defer.label as string | undefined });
    return false;
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

/** The arguments of a selected field as its resolver gets them. Errors: GraphQLError, as from the executor. */
export function argumentsOf(field: SelectedField, selection: Selection): Readonly<Record<string, unknown>> {
  if (selection.argumentsOf !== undefined) return selection.argumentsOf(field);
  const [node] = field.nodes;
  return node === undefined ? {} : getArgumentValues(field.field, node, selection.variableValues);
}

/** The selection below a selected field. */
export function subselectionOf(field: SelectedField, selection: Selection): Selection {
  if (selection.subselection !== undefined) return selection.subselection(field);
  const { schema, fragments, variableValues } = selection;
  return { schema, fragments, variableValues, fieldNodes: field.nodes };
}

/** The selection on an entry of a list. */
export const selectionOfEntry = (list: Selection, index: number): Selection =>
  list.selectionOfEntry?.(index) ?? list;

/** Whether @skip and @include include a node. Errors: GraphQLError if a condition is null. */
function isIncluded(node: SelectionNode, { variableValues }: Selection): boolean {
  if (node.directives === undefined || node.directives.length === 0) return true;
  return (
    getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.if !== true &&
    getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.if !== false
  );
}
