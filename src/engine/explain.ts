import type { GraphQLSchema } from 'graphql';
import type { CallRecorder } from './context.ts';

export interface ExplainedCalls {
  readonly recorder: CallRecorder;
  /** The schema with resolvers that report to the recorder. */
  readonly observe: (schema: GraphQLSchema) => GraphQLSchema;
}

/** Records the calls of an operation, by the value of the header x-bankql-explain (options/explain). Errors: BAD_USER_INPUT. */
export type ExplainOption = (header: string) => ExplainedCalls;
