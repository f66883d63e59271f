import {
  type ExecutionArgs,
  type GraphQLError,
  type GraphQLSchema,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Documents, ExecutableOperation } from './documents.ts';
import { internalError } from './errors.ts';
import type { OperationContext } from './operation-context.ts';
import { boundedResult, type Result } from './result.ts';
import { toViolations } from './validation.ts';

/**
 * Yoga's context of an operation. All members of bankql are in one object under one name, because plugins may add any other
 * name. It is a type and not an interface, because yoga's contexts have an index signature.
 */
export type YogaContext = { readonly bankql: OperationContext };

/** A plugin of bankql: a plugin of yoga that finds `bankql` in the context of its hooks. */
export type BankqlPlugin = Plugin<YogaContext, YogaContext>;

type ExecuteOperation = (
  operation: ExecutableOperation,
  schema: GraphQLSchema,
  variables: Readonly<Record<string, unknown>>,
  context: YogaContext,
) => Result | Promise<Result>;

/**
 * Runs the steps of an operation in yoga's pipeline, with the hooks of other plugins in between. It executes whatever yoga
 * passes: a plugin may have set another schema, document or context, or other variables.
 */
export const usePipeline = (documents: Documents, executeOperation: ExecuteOperation): BankqlPlugin => ({
  onParse({ context, setParseFn }) {
    const { bankql, params } = context;
    setParseFn((text: string) => {
      const document = documents.parse(text);
      bankql.operationIn(document, params.operationName);
      return document.node;
    });
  },
  onValidate({ context: { bankql, params }, setValidationFn }) {
    setValidationFn((schema, node, rules = []): readonly GraphQLError[] => {
      const document = documents.of(node);
      const violations = document.violationsIn(schema);
      if (violations.length > 0) return violations;
      bankql.note(document.find(params.operationName));
      // The rules that other plugins have added.
      const added = (rules as readonly ValidationRule[]).filter((rule) => !specified.has(rule));
      return added.length === 0 ? [] : toViolations(validate(schema, node, added));
    });
  },
  onExecute({ setExecuteFn }) {
    setExecuteFn(({ schema, document, contextValue, variableValues, operationName }: ExecutionArgs) => {
      const context = contextValue as YogaContext;
      const operation = documents.of(document).find(operationName);
      const conclude = (each: Result) => (isAsyncIterable(each) ? each : context.bankql.conclude(each));
      const result = executeOperation(operation, schema, variableValues ?? {}, context);
      return result instanceof Promise ? result.then(conclude) : conclude(result);
    });
  },
});

const specified: ReadonlySet<ValidationRule> = new Set(specifiedRules);

/** Bounds the answers. It is the last plugin, so that the changes of other plugins count too. */
export const useBoundedResults = (): BankqlPlugin => ({
  onExecutionResult({ result, context: { bankql }, setResult }) {
    if (result === undefined || isAsyncIterable(result) || Array.isArray(result)) return;
    // Yoga drops the error of an aborted request, so another error replaces it.
    if (result.errors?.length === 0 && result.data === undefined)
      return setResult({ errors: [internalError()] });
    const bounded = boundedResult(result, bankql);
    return bounded instanceof Promise ? bounded.then(setResult) : setResult(bounded);
  },
});
