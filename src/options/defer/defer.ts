import {
  type DocumentNode,
  defaultFieldResolver,
  GraphQLDeferDirective,
  type GraphQLField,
  type GraphQLSchema,
  GraphQLStreamDirective,
  getDirectiveValues,
  visit,
} from 'graphql';
import type { ExecutableOperation } from '../../engine/documents.ts';
import type { IncrementalOption } from '../../engine/engine.ts';
import { RequestError } from '../../engine/errors.ts';
import type { AnswerLimits } from '../../executor/answer-budget.ts';
import { isPromise } from '../../executor/promises.ts';
import type { Selection } from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { Context } from '../../schema/context.ts';
import { fieldExtensionsOf, nullOnError } from '../../schema/field-extensions.ts';
import { globalIdTypes } from '../../schema/global-id.ts';
import { withFields } from '../map-fields.ts';
import { executeIncrementally } from './incremental-execution.ts';
import { incrementalResult } from './incremental-result.ts';

type Field = GraphQLField<unknown, unknown>;

/**
 * The schema for @defer. A link then does not read a record that only deferred fields need, so that the first result does
 * not wait for it; those fields read it themselves, in the same call.
 */
const deferrableSchema = (schema: GraphQLSchema): GraphQLSchema =>
  withFields(schema, (field, { name }) => deferrableField(field, name));

function deferrableField(field: Field, typeName: string): Field {
  const { resolve = defaultFieldResolver } = field;
  const nodeType = fieldExtensionsOf(field).answeredByIds === true ? undefined : globalIdTypes.get(typeName);
  const resolveDeferrable: typeof resolve = (source, given, context, info) => {
    const selection = { ...info, omitsDeferred: true } satisfies Selection;
    const complete = nodeType?.withRecord?.(source as object, context as Context) ?? source;
    return isPromise(complete)
      ? complete.then((read) => resolve(read, given, context, selection))
      : resolve(complete, given, context, selection);
  };
  return Object.create(field, { resolve: { value: resolveDeferrable } });
}

/**
 * Graphql's own executor and the results of streamed entries take up to ten times as long for each value
 * (`node test/long/measure-defer.ts`, `npm run check:hostile`).
 */
const incrementalCost = 10;

/** Executes @defer and @stream for clients that take several results: with graphql's own executor. */
export function createIncremental(): IncrementalOption {
  const used = new WeakMap<DocumentNode, boolean>();
  const schemas = new WeakMap<GraphQLSchema, GraphQLSchema>();
  return {
    isUsedBy: ({ document }) => getOrMake(used, document, usesIncremental),
    // As much work as the answers of other operations may be.
    limits: ({ values, bytes }: AnswerLimits) => ({
      values: Math.ceil(values / incrementalCost),
      bytes,
      cost: incrementalCost,
    }),
    async execute({ operation, context, variables, observe, form, ...options }) {
      const { schema, document, kind, name, hideSuggestions } = operation;
      const deferrable = getOrMake(schemas, schema, deferrableSchema);
      checkStreams(operation, operation.variablesOf(variables));
      const { budget } = context;
      const result = await executeIncrementally(
        {
          schema: observe(deferrable),
          document,
          contextValue: context,
          variableValues: variables,
          operationName: name,
          hideSuggestions,
          // Deferred fields of a mutation's payload are read once all its fields have been written.
          enableEarlyExecution: kind === 'query',
        },
        context,
        form,
      );
      if (!('initialResult' in result)) return result;
      return incrementalResult(result, {
        ...options,
        operation: context,
        exceeded: () => budget.exceeded,
        cancel: () => context.cancelReads(),
      });
    },
  };
}

const names: ReadonlySet<string> = new Set([GraphQLDeferDirective.name, GraphQLStreamDirective.name]);

function usesIncremental(document: DocumentNode): boolean {
  let isUsed = false;
  visit(document, {
    Directive({ name }) {
      if (names.has(name.value)) isUsed = true;
    },
  });
  return isUsed;
}

/** Errors: BAD_USER_INPUT for a negative `initialCount`, which graphql takes for a mistake in the program that calls it. */
function checkStreams(
  { node, fragments }: ExecutableOperation,
  variableValues: Selection['variableValues'],
): void {
  for (const part of [node, ...Object.values(fragments)])
    visit(part, {
      Field(field) {
        // Fields fail by themselves if an argument of their directive is invalid.
        const stream = nullOnError(() => getDirectiveValues(GraphQLStreamDirective, field, variableValues));
        if (stream?.if === true && Number(stream.initialCount) < 0)
          throw new RequestError('BAD_USER_INPUT', '@stream needs an initialCount of 0 or more.', {
            nodes: field.directives?.filter(({ name }) => name.value === GraphQLStreamDirective.name),
          });
      },
    });
}
