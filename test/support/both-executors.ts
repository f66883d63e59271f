import {
  buildSchema,
  type ExecutionResult,
  execute,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  isObjectType,
  parse,
  validate,
} from 'graphql';
import { expect } from 'vitest';
import { AnswerBudget, type AnswerLimits } from '../../src/executor/answer-limits.ts';
import { PreparedOperation } from '../../src/executor/compile.ts';
import { execute as executePrepared } from '../../src/executor/execute.ts';
import type { ExecuteOptions } from '../../src/executor/execution.ts';
import { nobody } from '../../src/load/callers.ts';

type Resolvers = Readonly<Record<string, GraphQLFieldResolver<unknown, unknown>>>;

type RawVariables = Readonly<Record<string, unknown>>;

/** A schema with these resolvers, by their coordinates. */
export function schemaOf(text: string, resolvers: Resolvers): GraphQLSchema {
  const schema = buildSchema(text);
  for (const [coordinate, resolve] of Object.entries(resolvers)) {
    const [typeName = '', fieldName = ''] = coordinate.split('.');
    const type = schema.getType(typeName);
    const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
    if (field === undefined) throw new Error(`there is no ${coordinate}`);
    field.resolve = resolve;
  }
  return schema;
}

/** An operation that both executors can run. bankql's executor compiles it once for all runs. */
export function prepare(schema: GraphQLSchema, text: string, operationName: string | null = null) {
  const document = parse(text);
  expect(validate(schema, document)).toEqual([]);
  const operation = getOperationAST(document, operationName);
  if (!operation) throw new Error('there is no such operation');
  const prepared = new PreparedOperation({ schema, document, operation });
  const variablesOf = (raw: RawVariables) => {
    const { variableValues, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], raw);
    if (variableValues === undefined) throw new Error(errors[0]?.message);
    return variableValues;
  };
  return {
    run: async (raw: RawVariables = {}, context: unknown = undefined) =>
      executePrepared(prepared, context, variablesOf(raw)),
    runWith: async (options: ExecuteOptions) =>
      executePrepared(prepared, undefined, variablesOf({}), options),
    runWithin: async (answerLimits: AnswerLimits) =>
      executePrepared(prepared, undefined, variablesOf({}), {
        budget: new AnswerBudget(answerLimits),
        caller: nobody,
      }),
    reference: async (variableValues: RawVariables = {}, contextValue: unknown = undefined) =>
      execute({ schema, document, variableValues, contextValue, operationName }),
  };
}

export const told = ({ data, errors }: ExecutionResult) => ({
  data: JSON.stringify(data),
  errors: errors?.map(({ message, path, locations, extensions }) => ({
    message,
    path,
    // An error of bankql has at most three locations, however many nodes select the field.
    locations: locations?.slice(0, 3),
    extensions,
  })),
});

/** Runs the operation with both executors, and expects the same answer. */
export async function answerOf(
  schema: GraphQLSchema,
  text: string,
  raw: RawVariables = {},
): Promise<ExecutionResult> {
  const { run, reference } = prepare(schema, text);
  const answer = await run(raw);
  expect(told(answer)).toEqual(told(await reference(raw)));
  return answer;
}
