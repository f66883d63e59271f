import type {
  FieldNode,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
} from 'graphql';
import type { SelectedField } from './selection.ts';

/** What is known of an operation before it is executed. */
export interface OperationDetails {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly hideSuggestions: boolean;
  /** Whether a name of the answer is `__proto__`, which sets the prototype of an object that has one. */
  readonly namesPrototype: boolean;
}

/** What is known beforehand of the places of a field, or of the entries of its list. */
export interface FieldDetails {
  /** The field's name in the answer. */
  readonly name: string;
  readonly field: SelectedField['field'];
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** The parent type's name, as a path has it; undefined for entries. */
  readonly typename: string | undefined;
  readonly isNonNull: boolean;
  /** The fields that are selected of an object of this type. */
  readonly fieldsOf: (type: GraphQLObjectType) => readonly PlannedField[];
}

/** A field of an object. */
export interface PlannedField extends FieldDetails {
  /** The arguments, where no variable is among them: they are the same each time, and nobody may change them. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** Its place among the arguments of an execution. */
  readonly index: number;
}
