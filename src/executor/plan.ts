import type {
  FieldNode,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
} from 'graphql';
import type { SelectedField } from './selection.ts';

/** What is known about an operation before it is executed. */
export interface OperationDetails {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly hideSuggestions: boolean;
  /** Whether a response name is `__proto__`, which would set the prototype of an ordinary object. */
  readonly namesPrototype: boolean;
}

/** What is known before execution about a field, or about the entries of its list. */
export interface FieldDetails {
  /** The field's response name (its alias, if it has one). */
  readonly name: string;
  readonly field: SelectedField['field'];
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** The parent type's name, as in a response path; undefined for list entries. */
  readonly typename: string | undefined;
  readonly isNonNull: boolean;
  /** The fields that are selected on an object of this type. */
  readonly fieldsOf: (type: GraphQLObjectType) => readonly PlannedField[];
}

/** A field of an object. */
export interface PlannedField extends FieldDetails {
  /** The arguments if none of them uses a variable: they are frozen and the same for each call; otherwise null. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** The index of its arguments among those of an execution. */
  readonly index: number;
}
