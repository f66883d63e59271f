import {
  type DocumentNode,
  GraphQLDeferDirective,
  type GraphQLSchema,
  GraphQLStreamDirective,
  visit,
} from 'graphql';
import type { AnswerLimits, IncrementalOption } from '../../engine/engine.ts';
import { executeIncrementally } from './execute.ts';
import { IncrementalResult } from './result.ts';
import { deferrableSchema } from './schema.ts';

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
    isUsedBy({ document }) {
      const isUsed = used.get(document) ?? usesIncremental(document);
      used.set(document, isUsed);
      return isUsed;
    },
    // As much work as the answers of other operations may be.
    limits: ({ values, bytes }: AnswerLimits) => ({
      values: Math.ceil(values / incrementalCost),
      bytes,
      cost: incrementalCost,
    }),
    async execute({ operation, context, variables, observe, form, ...options }) {
      const { schema, document, kind, name, hideSuggestions } = operation;
      const deferrable = schemas.get(schema) ?? deferrableSchema(schema);
      schemas.set(schema, deferrable);
      const { budget } = context;
      const result = await executeIncrementally(
        {
          schema: observe(deferrable),
          document,
          contextValue: context,
          variableValues: variables,
          operationName: name,
          hideSuggestions,
          // What a mutation's payload defers is read once all its fields have been written.
          enableEarlyExecution: kind === 'query',
        },
        context,
        form,
      );
      if (!('initialResult' in result)) return result;
      return new IncrementalResult(result, {
        ...options,
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
