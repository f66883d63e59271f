import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import {
  defaultFieldResolver,
  type GraphQLExecuteContext,
  type GraphQLExecuteRootSelectionSetContext,
  type GraphQLExecuteVariableCoercionContext,
  type GraphQLFieldResolver,
  type GraphQLResolveContext,
  responsePathAsArray,
} from 'graphql';
import { isPromise } from './promises.ts';

/**
 * Publishes the events of graphql's own executor through node:diagnostics_channel, with the same names and
 * contents, for tools that measure operations and resolvers. Without subscribers no events are created.
 */
const execute = tracingChannel<unknown, GraphQLExecuteContext>('graphql:execute');
const rootSelectionSet = tracingChannel<unknown, GraphQLExecuteRootSelectionSetContext>(
  'graphql:execute:rootSelectionSet',
);
const variableCoercion = tracingChannel<unknown, GraphQLExecuteVariableCoercionContext>(
  'graphql:execute:variableCoercion',
);
const resolve = tracingChannel<unknown, GraphQLResolveContext>('graphql:resolve');

/** An operation of a request; the contexts of its channels contain the same. */
export type TracedOperation = Pick<
  GraphQLExecuteRootSelectionSetContext,
  'schema' | 'document' | 'operation' | 'rawVariableValues'
>;

const contextOf = (traced: TracedOperation) => ({
  ...traced,
  operationName: traced.operation.name?.value,
  operationType: traced.operation.operation,
});

/** Whether somebody subscribes to executions. */
export const isExecutionTraced = () => execute.hasSubscribers || rootSelectionSet.hasSubscribers;

/** Whether somebody subscribes to calls of resolvers. */
export const isResolveTraced = () => resolve.hasSubscribers;

/** Executes an operation, and publishes when that begins and ends. */
export function traceExecution<T>(traced: TracedOperation, run: () => T): T {
  const { operation, ...whole } = contextOf(traced);
  return trace(execute, whole, () => trace(rootSelectionSet, { operation, ...whole }, run));
}

/** Coerces an operation's variables, and publishes when that begins and ends. */
export const traceVariableCoercion = <T>(traced: TracedOperation, run: () => T): T =>
  variableCoercion.hasSubscribers ? trace(variableCoercion, contextOf(traced), run) : run();

/** Wraps a field's resolver (or the default resolver) to publish when it begins and ends. */
export function tracedResolver(
  own: GraphQLFieldResolver<unknown, unknown> | null,
): GraphQLFieldResolver<unknown, unknown> {
  const resolver = own ?? defaultFieldResolver;
  return (source, args, context, info) => {
    const traced = {
      fieldName: info.fieldName,
      alias: String(info.path.key),
      parentType: info.parentType.name,
      fieldType: String(info.returnType),
      args,
      isDefaultResolver: own === null,
      get fieldPath() {
        return responsePathAsArray(info.path).join('.');
      },
    };
    return trace(resolve, traced, () => resolver(source, args, context, info));
  };
}

type Outcome = { error?: unknown; result?: unknown };

function trace<Context extends object, T>(
  channel: TracingChannel<unknown, Context>,
  context: Context & Outcome,
  run: () => T,
): T {
  return channel.start.runStores(context, () => {
    let result: T;
    try {
      result = run();
    } catch (error) {
      context.error = error;
      channel.error.publish(context);
      channel.end.publish(context);
      throw error;
    }
    const isLate = isPromise(result);
    if (!isLate) context.result = result;
    channel.end.publish(context);
    return isLate ? (traceLate(channel, context, result) as T) : result;
  });
}

async function traceLate<Context extends object>(
  channel: TracingChannel<unknown, Context>,
  context: Context & Outcome,
  promise: unknown,
): Promise<unknown> {
  try {
    context.result = await promise;
    return context.result;
  } catch (error) {
    context.error = error;
    channel.error.publish(context);
    throw error;
  } finally {
    channel.asyncStart.publish(context);
    channel.asyncEnd.publish(context);
  }
}
