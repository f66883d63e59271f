import type { ExecutionResult, GraphQLResolveInfo, GraphQLSchema } from 'graphql';
import type { Caller } from '../bank/credentials.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import type { Defaults } from '../schema/context.ts';
import type { CallRecorder } from './context.ts';
import type { ExecutableOperation } from './documents.ts';

export interface ExplainedCalls {
  readonly recorder: CallRecorder;
  /** The schema with resolvers that report to the recorder. */
  readonly observe: (schema: GraphQLSchema) => GraphQLSchema;
}

/** Answers requests that ask what an operation costs, by the header x-bankql-explain (options/explain). */
export interface ExplainOption {
  /** Shape: the answer, if the operation is not to be executed; otherwise how. Errors: BAD_USER_INPUT. */
  explain(
    header: string,
    asked: {
      readonly operation: ExecutableOperation;
      readonly variableValues: GraphQLResolveInfo['variableValues'];
      readonly credentials: Caller;
      readonly defaults: Defaults;
      readonly limits: OperationLimits;
    },
  ): { readonly answer: ExecutionResult } | ExplainedCalls;
}
